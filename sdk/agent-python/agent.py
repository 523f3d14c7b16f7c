"""An agent in Python: `agent.py SOCKET NETWORK NAME...` keeps these claims, and prints a line whenever something changes.

Its two modules come from grpcio-tools:
    python -m grpc_tools.protoc -I host/rpc/proto --python_out=. --grpc_python_out=. tenure/v1/claims.proto
"""
import random
import sys
import time

import grpc
from tenure.v1 import claims_pb2 as v1
from tenure.v1.claims_pb2_grpc import ClaimsStub


# Without the first three, a watch would wait for ever for a daemon that hangs; without the last one, a thousand claims with many routes are too long.
OPTIONS = [("grpc.keepalive_time_ms", 10_000), ("grpc.http2.ping_timeout_ms", 20_000), ("grpc.http2.max_pings_without_data", 0), ("grpc.max_receive_message_length", 64 << 20)]


def say(state, claims, problem=""):
    words = [f"{name}={address}" for name, address in sorted(claims.items())]
    print(state, *words, f"({problem})" if problem else "", flush=True)


def follow(stub, specs, claims):
    """Declares the claims and follows them, until the daemon ends the watch. Yields at each of its messages."""
    stub.Declare(v1.DeclareClaimsRequest(claims=specs, wait_ms=300_000), timeout=360)
    for change in stub.Watch(v1.WatchClaimsRequest()):
        yield
        if change.is_all:
            claims.clear()
        for claim in change.claims:
            claims[claim.name] = claim.addresses[0].address
        for ended in change.ended:
            claims.pop(ended.claim.name, None)
        missing = [spec for spec in specs if spec.name not in claims]
        say("away" if missing else "current", claims, " ".join(ended.reason for ended in change.ended))
        if missing:  # An operator released it, or its lease ran out: declare it again.
            stub.Declare(v1.DeclareClaimsRequest(claims=specs), timeout=60)


def main(socket, network, *names):
    specs = [v1.ClaimSpec(network=network, name=name) for name in names]
    claims, pause = {}, 0.1
    while True:
        with grpc.insecure_channel(f"unix:{socket}", options=OPTIONS) as channel:
            try:
                for _ in follow(ClaimsStub(channel), specs, claims):
                    pause = 0.1
                problem = "the watch has ended"
            except grpc.RpcError as error:
                problem = f"{error.code().name}: {error.details()}"
        # What was told stays true; it may only be out of date.
        say("away", claims, problem)
        time.sleep(pause * random.uniform(0.5, 1))
        pause = min(pause * 2, 10)


if __name__ == "__main__":
    main(*sys.argv[1:])
