// Assigns the next free address of each pool in turn.

import { cooling, free, last, pools } from "tenure:ipam/ledger@0.1.0-rc.1";
import type { Config, Definition, Proposal, Request } from "tenure:ipam/types@0.1.0-rc.1";

import { exhausted, ranges, told } from "./tenure.js";

/** Makes a pool of each range set in the network's configuration. */
function define(config: Config): Definition {
  const pools = ranges("ipam").map((ranges, index) => ({
    name: String(index),
    supply: { tag: "configuration" as const },
    need: { tag: "always" as const },
    ranges,
    attributes: [],
  }));
  return { pools, cooling: { tag: "preferred" }, attributes: [] };
}

/** Takes the next free address of each pool; if none is free, the one that has been cooling down longest. */
function propose(request: Request): Proposal {
  const assignments = pools().map(({ name }, pool) => {
    const [next] = free(pool, [], last(pool, []), { tag: "ascending" }, 1);
    const address = next ?? cooling(pool, [], 1)[0];
    if (address === undefined) throw exhausted(`no address is free in pool ${name}`);
    return { pool, address, attributes: [] };
  });
  return { assignments, tags: [], attributes: [] };
}

export const network = { define: told(define) };
export const allocation = { propose: told(propose) };
