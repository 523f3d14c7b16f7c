"""Assigns the next free address of each pool in turn."""

from tenure import exhausted, told
from wit_world import exports
from wit_world.imports import configuration, ledger
from wit_world.imports.types import (
    Assignment,
    Config,
    Cooling_Preferred,
    Definition,
    Need_Always,
    PoolDefinition,
    Proposal,
    Request,
    Supply_Configuration,
)


class Network(exports.Network):
    @told
    def define(self, config: Config) -> Definition:
        """Makes a pool of each range set in the network's configuration."""
        pools = [
            PoolDefinition(str(index), Supply_Configuration(), Need_Always(), set_of_ranges, [])
            for index, set_of_ranges in enumerate(configuration.ranges("ipam"))
        ]
        return Definition(pools, Cooling_Preferred(), [])


class Allocation(exports.Allocation):
    @told
    def propose(self, request: Request) -> Proposal:
        """Takes the next free address of each pool; if none is free, the one that has been cooling down longest."""
        assignments = []
        for index, pool in enumerate(ledger.pools()):
            last = ledger.last(index, [])
            found = ledger.free(index, [], last, ledger.Direction_Ascending(), 1) or ledger.cooling(index, [], 1)
            if not found:
                raise exhausted(f"no address is free in pool {pool.name}")
            assignments.append(Assignment(index, found[0], []))
        return Proposal(assignments, [], [])
