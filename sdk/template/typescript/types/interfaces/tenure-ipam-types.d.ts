declare module 'tenure:ipam/types@0.1.0-rc.1' {
  /**
   * A named value: how requests, configurations and answers grow without a new version.
   * 
   * Names that begin with `owner.`, `pod.`, `policy.`, `supply.`, `time.`, `node.`, `network.`, `runtime-config.` or `tenure.` belong to the
   * host, which refuses them from a policy; all others are the policy's. Each side ignores names that it does not know.
   */
  export interface Attribute {
    name: string,
    value: string,
  }
  /**
   * A range of addresses inside one subnet, including both ends.
   */
  export interface AddressRange {
    /**
     * Unique within its pool. Empty means the range's own text, `FIRST-LAST`.
     */
    name: string,
    /**
     * CIDR text without host bits.
     */
    subnet: string,
    first: string,
    last: string,
    /**
     * Reported with each address of the range; never handed out itself.
     */
    gateway?: string,
    /**
     * The prefix length that is reported with each address of the range.
     */
    prefixLength: number,
    /**
     * Labels for queries, such as a namespace, an interface's id or a block's uid. An allocation keeps those of its ranges.
     */
    attributes: Array<Attribute>,
  }
  /**
   * Where a pool's ranges come from.
   */
  export type Supply = SupplyConfiguration | SupplyHost | SupplyOther;
  /**
   * From the network's configuration: the definition lists them.
   */
  export interface SupplyConfiguration {
    tag: 'configuration',
  }
  /**
   * From the host, such as a network interface's addresses or a leased block. The host adds, drains and withdraws them
   * while addresses are held; the definition lists none.
   */
  export interface SupplyHost {
    tag: 'host',
  }
  /**
   * Reserved for later versions; a host that does not know it refuses the definition.
   */
  export interface SupplyOther {
    tag: 'other',
    val: string,
  }
  /**
   * Whether each allocation must have an address of a pool.
   */
  export type Need = NeedAlways | NeedOptional | NeedOther;
  /**
   * A proposal without such an address is rejected.
   */
  export interface NeedAlways {
    tag: 'always',
  }
  /**
   * A proposal may omit it.
   */
  export interface NeedOptional {
    tag: 'optional',
  }
  /**
   * Reserved for later versions; a host that does not know it refuses the definition.
   */
  export interface NeedOther {
    tag: 'other',
    val: string,
  }
  /**
   * Ranges that serve the same need. An allocation has at most one address from each pool.
   * 
   * The record does not contain the pool's ranges, since there may be thousands: `ledger.ranges` lists them in pages.
   */
  export interface Pool {
    /**
     * Unique within its network. A pool keeps its identity across definitions by its name.
     */
    name: string,
    supply: Supply,
    need: Need,
    attributes: Array<Attribute>,
  }
  /**
   * A pool as a policy defines it.
   */
  export interface PoolDefinition {
    /**
     * At most 64 letters, digits, `_`, `.` and `-`.
     */
    name: string,
    supply: Supply,
    need: Need,
    /**
     * The ranges, in the order of use; none if the host supplies them.
     */
    ranges: Array<AddressRange>,
    /**
     * Kept with the pool and with each address of it.
     */
    attributes: Array<Attribute>,
  }
  /**
   * How recently freed addresses are treated.
   */
  export type Cooling = CoolingStrict | CoolingPreferred | CoolingOther;
  /**
   * Never handed out before its time.
   */
  export interface CoolingStrict {
    tag: 'strict',
  }
  /**
   * Handed out before its time if nothing else is left in its pool or under a label of its range, to the name that had it
   * last, and to a caller that requests it.
   */
  export interface CoolingPreferred {
    tag: 'preferred',
  }
  /**
   * Reserved for later versions; a host that does not know it refuses the definition.
   */
  export interface CoolingOther {
    tag: 'other',
    val: string,
  }
  /**
   * A network's configuration.
   */
  export interface Config {
    /**
     * The network's name.
     */
    name: string,
    /**
     * The `ipam` object of the CNI configuration, as JSON text.
     */
    ipam: string,
    /**
     * What the host adds; `wit/README.md` lists the names.
     */
    attributes: Array<Attribute>,
  }
  /**
   * What a policy defines from a configuration.
   */
  export interface Definition {
    pools: Array<PoolDefinition>,
    cooling: Cooling,
    /**
     * Whatever the policy needs when it proposes; `configuration.definition-attributes` returns it.
     */
    attributes: Array<Attribute>,
  }
  /**
   * A request for addresses.
   */
  export interface Request {
    /**
     * The network's name.
     */
    network: string,
    /**
     * Addresses that the caller requests, in its order.
     */
    requested: Array<string>,
    /**
     * Who makes the request, and what else the host knows; `wit/README.md` lists the names.
     */
    attributes: Array<Attribute>,
  }
  /**
   * One address from one pool.
   */
  export interface Assignment {
    /**
     * The index of the pool in `ledger.pools`.
     */
    pool: number,
    address: string,
    /**
     * Kept with the address for as long as it is held.
     */
    attributes: Array<Attribute>,
  }
  /**
   * A policy's answer to a request: at most one address from each pool, and one from each pool whose need is `always`.
   */
  export interface Proposal {
    assignments: Array<Assignment>,
    /**
     * Kept with the allocation for as long as it lives, and counted by `ledger.count-of`.
     */
    tags: Array<Attribute>,
    attributes: Array<Attribute>,
  }
  /**
   * What is wrong with a configuration.
   */
  export interface ConfigError {
    /**
     * The key's path, such as `ipam.ranges[0][1].subnet`; empty for the whole configuration.
     */
    path: string,
    message: string,
    attributes: Array<Attribute>,
  }
  /**
   * Why there is no answer, in words for people.
   */
  export interface Reason {
    message: string,
    attributes: Array<Attribute>,
  }
  /**
   * Why there is no answer yet.
   */
  export interface Delay {
    message: string,
    /**
     * How long the caller should wait before it asks again, if the policy knows.
     */
    retryAfterSeconds?: number,
    attributes: Array<Attribute>,
  }
  /**
   * Why there is no answer.
   */
  export type Refusal = RefusalInvalidConfig | RefusalExhausted | RefusalUnavailable | RefusalNotYet | RefusalDenied | RefusalOverQuota | RefusalOther;
  /**
   * The configuration is wrong.
   */
  export interface RefusalInvalidConfig {
    tag: 'invalid-config',
    val: ConfigError,
  }
  /**
   * Nothing is free.
   */
  export interface RefusalExhausted {
    tag: 'exhausted',
    val: Reason,
  }
  /**
   * An address that the caller requests is not available.
   */
  export interface RefusalUnavailable {
    tag: 'unavailable',
    val: Reason,
  }
  /**
   * Nothing is free yet, but more has been requested; the caller should retry.
   */
  export interface RefusalNotYet {
    tag: 'not-yet',
    val: Delay,
  }
  /**
   * A rule does not allow it, even if addresses are free: asking again does not help.
   */
  export interface RefusalDenied {
    tag: 'denied',
    val: Reason,
  }
  /**
   * The owner, or the group that it belongs to, has as much as it may have; it may ask again when it has given something up.
   */
  export interface RefusalOverQuota {
    tag: 'over-quota',
    val: Reason,
  }
  /**
   * Any other reason.
   */
  export interface RefusalOther {
    tag: 'other',
    val: Reason,
  }
  /**
   * The answer of a policy that keeps a state.
   */
  export interface Outcome {
    proposal: Proposal,
    /**
     * The new state, kept if the proposal is accepted; without it, the old state stays.
     */
    state?: Uint8Array,
    attributes: Array<Attribute>,
  }
}
