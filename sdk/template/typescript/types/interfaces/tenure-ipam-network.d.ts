/// <reference path="./tenure-ipam-types.d.ts" />
declare module 'tenure:ipam/network@0.1.0' {
  export function define(config: Config): Definition;
  export type Config = import('tenure:ipam/types@0.1.0').Config;
  export type Definition = import('tenure:ipam/types@0.1.0').Definition;
  export type Refusal = import('tenure:ipam/types@0.1.0').Refusal;
}
