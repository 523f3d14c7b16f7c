/// <reference path="./tenure-ipam-types.d.ts" />
declare module 'tenure:ipam/configuration@0.1.0-rc.1' {
  /**
   * The configuration that `network.define` got, or is getting.
   */
  export function get(): Config;
  /**
   * The attributes of the network's definition; none during `network.define`.
   */
  export function definitionAttributes(): Array<Attribute>;
  /**
   * Reads ranges as the reference host-local does, with its defaults and error texts, so that policies need not.
   * 
   * The path `ipam` means the whole configuration: `runtimeConfig.ipRanges` first, then the single range of old
   * configurations, then `ranges`. Any other path, such as `ipam.zones.blue`, must lead to an object with the same keys, or to a
   * list of range sets. Each range may also have a `rangeName` and `rangeAttributes`.
   */
  export function ranges(path: string): Array<Array<AddressRange>>;
  export type Attribute = import('tenure:ipam/types@0.1.0-rc.1').Attribute;
  export type AddressRange = import('tenure:ipam/types@0.1.0-rc.1').AddressRange;
  export type Config = import('tenure:ipam/types@0.1.0-rc.1').Config;
  export type ConfigError = import('tenure:ipam/types@0.1.0-rc.1').ConfigError;
}
