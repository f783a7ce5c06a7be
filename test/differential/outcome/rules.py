"""Runs cases through the real Roampal's own services. Reads JSON from stdin and writes the answers to stdout. A dict replaces its database."""
import asyncio
import json
import sys

from stand_in import answer, faults

from roampal.backend.modules.memory import unified_memory_system as system
from roampal.backend.modules.memory.outcome_service import OutcomeService
from roampal.backend.modules.memory.promotion_service import PromotionService
from roampal.backend.modules.memory.scoring_service import ScoringService


class Kept:
    """Collection with the methods that the services call."""

    def __init__(self):
        self.held = {}
        self.collection = self

    def count(self):
        return len(self.held)

    def get_fragment(self, id):
        return {"id": id, "content": "text", "metadata": self.held[id]} if id in self.held else None

    def update_fragment_metadata(self, id, metadata):
        self.held[id] = dict(metadata)

    async def upsert_vectors(self, ids, vectors, metadatas):
        for id, metadata in zip(ids, metadatas):
            self.held[id] = dict(metadata)

    def delete_vectors(self, ids):
        for id in ids:
            self.held.pop(id, None)

    def list_all_ids(self):
        return list(self.held)


async def embed(*_given, **_named):
    return [0.0]


async def live(case):
    """Applies outcomes to one memory. Returns its id, score, uses and successes after each."""
    kept = {name: Kept() for name in ("working", "history", "patterns", "memory_bank")}
    promotion = PromotionService(collections=kept, embed_fn=embed)
    outcomes = OutcomeService(collections=kept, promotion_service=promotion)
    start = dict(case["metadata"], text="text", content="text")
    kept[case["collection"]].held[f"{case['collection']}_0a1b2c3d"] = start
    steps = []
    for outcome in case["outcomes"]:
        place = next((name for name, one in kept.items() if one.held), None)
        if place is not None:
            (id,) = kept[place].held
            await outcomes.record_outcome(id, outcome)
            waiting = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            await asyncio.gather(*waiting)
        place = next((name for name, one in kept.items() if one.held), None)
        if place is None:
            steps.append(None)
            continue
        ((id, held),) = kept[place].held.items()
        steps.append([id, held.get("score"), held.get("uses", 0), held.get("success_count", 0.0)])
    return steps


def ranked(case):
    got = ScoringService().calculate_final_score(case["metadata"], case["distance"], case["collection"])
    return [got["learned_score"], got["wilson_score"], got["final_rank_score"]]


def cut(case):
    memory = system.UnifiedMemorySystem.__new__(system.UnifiedMemorySystem)
    return [len(part) for part in memory._chunk_by_sentences(case["text"], case["size"], case["overlap"])]


async def main():
    asked = json.load(sys.stdin)
    got = {
        "lives": [await live(case) for case in asked["lives"]],
        "ranks": [ranked(case) for case in asked["ranks"]],
        "cuts": [cut(case) for case in asked["cuts"]],
    }
    if faults:
        sys.exit("\n".join(faults[:5]))
    answer(got)


asyncio.run(main())
