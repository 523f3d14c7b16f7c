/// <reference path="./tenure-ipam-types.d.ts" />
declare module 'tenure:ipam/allocation@0.1.0-rc.1' {
  export function propose(request: Request): Proposal;
  export type Request = import('tenure:ipam/types@0.1.0-rc.1').Request;
  export type Proposal = import('tenure:ipam/types@0.1.0-rc.1').Proposal;
  export type Refusal = import('tenure:ipam/types@0.1.0-rc.1').Refusal;
}
