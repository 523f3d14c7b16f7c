/// <reference path="./tenure-ipam-types.d.ts" />
declare module 'tenure:ipam/network@0.1.0-rc.1' {
  /**
   * An error refuses the configuration, and the network stays as it was.
   */
  export function define(config: Config): Definition;
  export type Config = import('tenure:ipam/types@0.1.0-rc.1').Config;
  export type Definition = import('tenure:ipam/types@0.1.0-rc.1').Definition;
  export type ConfigError = import('tenure:ipam/types@0.1.0-rc.1').ConfigError;
}
