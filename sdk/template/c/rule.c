// Assigns the next free address of each pool in turn.

#include <stdlib.h>

#include "bindings/policy.h"
#include "tenure.h"

// Makes a pool of each range set in the network's configuration.
bool exports_tenure_ipam_network_define(exports_tenure_ipam_network_config_t *config,
                                        exports_tenure_ipam_network_definition_t *definition,
                                        exports_tenure_ipam_network_config_error_t *error) {
    (void)config;
    policy_string_t path = text("ipam");
    tenure_ipam_configuration_list_list_address_range_t sets;
    if (!tenure_ipam_configuration_ranges(&path, &sets, error)) return false;
    tenure_ipam_types_pool_definition_t *pools = malloc(sets.len * sizeof *pools);
    for (size_t i = 0; i < sets.len; i++) {
        pools[i] = (tenure_ipam_types_pool_definition_t){
            .name = number(i),
            .supply.tag = TENURE_IPAM_TYPES_SUPPLY_CONFIGURATION,
            .need.tag = TENURE_IPAM_TYPES_NEED_ALWAYS,
            .ranges = {(tenure_ipam_types_address_range_t *)sets.ptr[i].ptr, sets.ptr[i].len},
        };
    }
    *definition = (tenure_ipam_types_definition_t){
        .pools = {pools, sets.len},
        .cooling.tag = TENURE_IPAM_TYPES_COOLING_PREFERRED,
    };
    return true;
}

// Takes the next free address of each pool; if none is free, the one that has been cooling down longest.
bool exports_tenure_ipam_allocation_propose(exports_tenure_ipam_allocation_request_t *request,
                                            exports_tenure_ipam_allocation_proposal_t *proposal,
                                            exports_tenure_ipam_allocation_refusal_t *refusal) {
    (void)request;
    tenure_ipam_ledger_list_attribute_t all = {0};
    tenure_ipam_ledger_direction_t ascending = {.tag = TENURE_IPAM_LEDGER_DIRECTION_ASCENDING};
    tenure_ipam_ledger_list_pool_t pools;
    tenure_ipam_ledger_pools(&pools);
    tenure_ipam_types_assignment_t *assignments = malloc(pools.len * sizeof *assignments);
    for (uint32_t pool = 0; pool < pools.len; pool++) {
        policy_string_t last;
        bool has_last = tenure_ipam_ledger_last(pool, &all, &last);
        policy_list_string_t found;
        tenure_ipam_ledger_free(pool, &all, has_last ? &last : NULL, &ascending, 1, &found);
        if (found.len == 0) tenure_ipam_ledger_cooling(pool, &all, 1, &found);
        if (found.len == 0) {
            policy_string_t parts[] = {text("no address is free in pool "), pools.ptr[pool].name};
            refusal->tag = TENURE_IPAM_TYPES_REFUSAL_EXHAUSTED;
            refusal->val.exhausted = (tenure_ipam_types_reason_t){.message = joined(parts, 2)};
            return false;
        }
        assignments[pool] = (tenure_ipam_types_assignment_t){.pool = pool, .address = found.ptr[0]};
    }
    *proposal = (tenure_ipam_types_proposal_t){.assignments = {assignments, pools.len}};
    return true;
}
