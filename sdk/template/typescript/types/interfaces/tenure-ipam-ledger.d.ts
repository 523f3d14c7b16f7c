/// <reference path="./tenure-ipam-types.d.ts" />
declare module 'tenure:ipam/ledger@0.1.0-rc.1' {
  /**
   * The network's pools, in the order of its definition.
   */
  export function pools(): Array<Pool>;
  /**
   * The index of a pool.
   */
  export function poolNamed(name: string): number | undefined;
  /**
   * The index of the pool that an address lies in.
   */
  export function poolOf(address: string): number | undefined;
  /**
   * The range that an address lies in.
   */
  export function rangeOf(address: string): AddressRange | undefined;
  /**
   * Up to `limit` ranges of a pool, in its order, starting at index `start`.
   */
  export function ranges(pool: number, labels: Array<Attribute>, start: number, limit: number): Array<RangeView>;
  /**
   * The current standing of an address.
   */
  export function standingOf(address: string): Standing;
  /**
   * Up to `limit` free addresses, range after range, starting after `after` and wrapping around once.
   * Without `after`, or if it is in none of the ranges, from the start (or from the end, when descending).
   */
  export function free(pool: number, labels: Array<Attribute>, after: string | undefined, direction: Direction, limit: number): Array<string>;
  /**
   * Up to `limit` cooling addresses, least recently freed first.
   */
  export function cooling(pool: number, labels: Array<Attribute>, limit: number): Array<string>;
  /**
   * The address that was handed out last, by this policy or another. The host remembers one for each label: with several, it may not know.
   */
  export function last(pool: number, labels: Array<Attribute>): string | undefined;
  /**
   * How much is in use.
   */
  export function usageOf(pool: number, labels: Array<Attribute>): Usage;
  /**
   * The usage by the values of the label `name`, such as by network interface: up to `limit` values in alphabetical order, starting
   * after `after`.
   */
  export function usageBy(pool: number, labels: Array<Attribute>, name: string, after: string | undefined, limit: number): Array<LabelUsage>;
  /**
   * The number of the network's live allocations with a name and value: `pod.namespace`, `owner.kind`, `owner.agent`, or a tag
   * of a proposal.
   */
  export function countOf(name: string, value: string): number;
  /**
   * The last addresses of a name on this network, as far as the host remembers them and a pool contains them.
   * A pod's name is `NAMESPACE/NAME`, a claim's `AGENT/NAME`.
   */
  export function lastOf(name: string): Array<Place>;
  export type Attribute = import('tenure:ipam/types@0.1.0-rc.1').Attribute;
  export type AddressRange = import('tenure:ipam/types@0.1.0-rc.1').AddressRange;
  export type Pool = import('tenure:ipam/types@0.1.0-rc.1').Pool;
  /**
   * The direction in which a pool is walked.
   */
  export type Direction = DirectionAscending | DirectionDescending | DirectionOther;
  export interface DirectionAscending {
    tag: 'ascending',
  }
  export interface DirectionDescending {
    tag: 'descending',
  }
  /**
   * Reserved for later versions; a host that does not know it uses `ascending`.
   */
  export interface DirectionOther {
    tag: 'other',
    val: string,
  }
  /**
   * The current standing of an address.
   */
  export type Standing = StandingFree | StandingHeld | StandingCooling | StandingReserved | StandingDraining | StandingOutside | StandingOther;
  /**
   * May be proposed.
   */
  export interface StandingFree {
    tag: 'free',
  }
  /**
   * Has an owner.
   */
  export interface StandingHeld {
    tag: 'held',
  }
  /**
   * Freed recently; may be proposed if the network's cooling is `preferred`.
   */
  export interface StandingCooling {
    tag: 'cooling',
  }
  /**
   * Inside a range, but never handed out: a network, broadcast or gateway address.
   */
  export interface StandingReserved {
    tag: 'reserved',
  }
  /**
   * Inside a range that hands out nothing more.
   */
  export interface StandingDraining {
    tag: 'draining',
  }
  /**
   * In no range of this network, or not an address.
   */
  export interface StandingOutside {
    tag: 'outside',
  }
  /**
   * Must not be proposed, for a reason that a later version defines.
   */
  export interface StandingOther {
    tag: 'other',
    val: string,
  }
  /**
   * How much is in use. Counts stop at the largest u32.
   */
  export interface Usage {
    /**
     * All addresses that an owner could get.
     */
    total: number,
    held: number,
    cooling: number,
  }
  /**
   * The state of a range.
   */
  export type RangeState = RangeStateOpen | RangeStateDraining | RangeStateOther;
  /**
   * It hands out addresses.
   */
  export interface RangeStateOpen {
    tag: 'open',
  }
  /**
   * It hands out nothing more, until the host opens or withdraws it.
   */
  export interface RangeStateDraining {
    tag: 'draining',
  }
  /**
   * It hands out nothing, for a reason that a later version defines.
   */
  export interface RangeStateOther {
    tag: 'other',
    val: string,
  }
  /**
   * A range with its state and its own usage.
   */
  export interface RangeView {
    range: AddressRange,
    state: RangeState,
    usage: Usage,
  }
  /**
   * The usage of all ranges that share a label's value.
   */
  export interface LabelUsage {
    value: string,
    usage: Usage,
  }
  /**
   * An address and the pool that it lies in.
   */
  export interface Place {
    pool: number,
    address: string,
  }
}
