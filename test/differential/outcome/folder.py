"""Runs steps in a data folder through a real Roampal. Reads the steps as JSON from stdin and writes the folder's content to stdout. Only the model
is a stand-in."""
import asyncio
import inspect
import json
import sys

import numpy
from stand_in import answer, faults

from roampal.backend.modules.memory.unified_memory_system import UnifiedMemorySystem


async def do(memory, step):
    what, *given = step
    if what == "store":
        return await memory.store(*given)
    if what == "fact":
        text, tags, importance, confidence, always = given
        # 0.6.0 has no facts that are always shown.
        more = {"always_inject": always} if "always_inject" in inspect.signature(memory.store_memory_bank).parameters else {}
        return await memory.store_memory_bank(text, tags, importance=importance, confidence=confidence, **more)
    if what == "archive":
        return await memory.delete_memory_bank(*given)
    if what == "book":
        return await memory.store_book(given[0], title=given[1], source=given[2])
    if what == "remove":
        return (await memory.remove_book(given[0]))["removed"]
    if what == "score":
        id, outcome, reason = given
        scored = await memory._outcome_service.record_outcome(id, outcome, failure_reason=reason)
        # Waits, because the memory moves after the answer.
        await asyncio.sleep(0.2)
        return scored is not None
    if what == "search":
        return [one["id"] for one in await memory.search(given[0], limit=5)]
    if what == "get":
        found = memory.get_by_id(given[0])
        return None if found is None else found.get("content") or found.get("text")
    if what == "relate":
        # Roampal itself never adds a relationship.
        return memory._kg_service.add_relationship(given[0], "evolution", {"to": given[0], "reason": given[1]})
    if what == "books":
        return [[one["title"], one.get("chunk_count", one.get("chunks"))] for one in await memory.list_books()]
    raise ValueError(what)


def graphs_of(kg):
    """Returns the graphs of 0.3.6.1 as the process has them. Newer versions have no graphs."""
    if kg is None:
        return None
    documents = {id: sorted(names) for id, names in kg.content_graph._doc_entities.items()}
    return [kg.knowledge_graph, kg.content_graph.to_dict(), kg.relationships, documents]


async def main():
    asked = json.load(sys.stdin)
    memory = UnifiedMemorySystem(asked["dir"])
    await memory.initialize()
    task = getattr(memory, "_migration_task", None)
    if task is not None:
        await task
    made = []
    for step in asked["steps"]:
        made.append(await do(memory, [made[int(one[1:])] if isinstance(one, str) and one[:1] == "$" else one for one in step]))
    kg = getattr(memory, "_kg_service", None)
    if kg is not None:
        # Saves at once. Roampal would save the graphs seconds after the last change.
        kg._save_kg_sync()
        kg._save_relationships_sync()
    held = {}
    for name, adapter in memory.collections.items():
        got = adapter.collection.get(include=["documents", "metadatas", "embeddings"])
        for id, text, metadata, vector in zip(got["ids"], got["documents"], got["metadatas"], got["embeddings"]):
            types = {key: type(value).__name__ for key, value in metadata.items()}
            held[id] = {"collection": name, "text": text, "metadata": metadata, "types": types, "isZero": not numpy.any(vector)}
    answer({"made": made, "held": held, "faults": faults, "ghosts": sorted(memory.ghost_ids), "graphs": graphs_of(kg)})


asyncio.run(main())
