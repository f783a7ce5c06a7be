"""A real Roampal and its data folder: what is to be done there as JSON on stdin, what is there afterwards on stdout. Only its model is not its
own: a text is embedded by its words, so that what is meant can be told without 400 MB."""
import asyncio
import hashlib
import inspect
import json
import logging
import os
import statistics
import sys
import types

import numpy

answers = sys.stdout
sys.stdout = sys.stderr
faults = []


class Faults(logging.Handler):
    def emit(self, record):
        faults.append(record.getMessage())


logging.basicConfig(level=logging.ERROR, handlers=[Faults()])

# 0.6.0 looks for its reranker, which is optional, in the network; and its write-ahead log, set behind Chroma's back, is not for every Chroma.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["ROAMPAL_TEST_DISABLE_WAL"] = "1"
WIDTH = 768


def by_words(text):
    vector = numpy.zeros(WIDTH, "float32")
    for word in text.lower().split():
        vector[int(hashlib.md5(word.encode()).hexdigest(), 16) % WIDTH] += 1
    length = numpy.linalg.norm(vector)
    return vector / length if length > 0 else vector


class Model:
    """sentence_transformers', as 0.3.6.1 uses it."""

    def __init__(self, *_given, **_named):
        pass

    def encode(self, texts, **_named):
        return by_words(texts) if isinstance(texts, str) else numpy.array([by_words(text) for text in texts])

    def get_sentence_embedding_dimension(self):
        return WIDTH


class Norm:
    """scipy is asked for one number."""

    @staticmethod
    def ppf(share):
        return statistics.NormalDist().inv_cdf(share)


def module(name, **parts):
    made = types.ModuleType(name)
    for key, part in parts.items():
        setattr(made, key, part)
    sys.modules[name] = made
    return made


module("scipy", stats=module("scipy.stats", norm=Norm))
module("sentence_transformers", SentenceTransformer=Model)

from roampal.backend.modules.memory import embedding_service
from roampal.backend.modules.memory.unified_memory_system import UnifiedMemorySystem

if hasattr(embedding_service.EmbeddingService, "_encode"):
    # 0.6.0 runs the model itself.
    embedding_service.EmbeddingService._load_model = lambda self: None
    embedding_service.EmbeddingService._encode = lambda self, texts, role="passage": numpy.array([by_words(t) for t in texts])
    embedding_service.EMBEDDING_AVAILABLE = True


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
        # The move comes after the answer.
        await asyncio.sleep(0.2)
        return scored is not None
    if what == "search":
        return [one["id"] for one in await memory.search(given[0], limit=5)]
    if what == "get":
        found = memory.get_by_id(given[0])
        return None if found is None else found.get("content") or found.get("text")
    if what == "relate":
        # No version does so by itself.
        return memory._kg_service.add_relationship(given[0], "evolution", {"to": given[0], "reason": given[1]})
    if what == "books":
        return [[one["title"], one.get("chunk_count", one.get("chunks"))] for one in await memory.list_books()]
    raise ValueError(what)


def graphs_of(kg):
    """Of 0.3.6.1, as it has them in mind; newer ones have none."""
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
        # It saves seconds after the last change.
        kg._save_kg_sync()
        kg._save_relationships_sync()
    held = {}
    for name, adapter in memory.collections.items():
        got = adapter.collection.get(include=["documents", "metadatas", "embeddings"])
        for id, text, metadata, vector in zip(got["ids"], got["documents"], got["metadatas"], got["embeddings"]):
            types = {key: type(value).__name__ for key, value in metadata.items()}
            held[id] = {"collection": name, "text": text, "metadata": metadata, "types": types, "isZero": not numpy.any(vector)}
    json.dump({"made": made, "held": held, "faults": faults, "ghosts": sorted(memory.ghost_ids), "graphs": graphs_of(kg)}, answers)
    answers.flush()
    # Threads of Chroma's would keep it.
    os._exit(0)


asyncio.run(main())
