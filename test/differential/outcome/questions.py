"""Asks the real Roampal what it reads from questions and learns from them. Reads the cases as JSON from stdin and writes the answers to stdout.
0.6.0 has no knowledge graphs, so it gets only the other cases."""
import asyncio
import json
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

from stand_in import answer, faults

from roampal.backend.modules.memory import routing_service, unified_memory_system as system


def spelled():
    """Returns Roampal's result for texts with each known acronym, in lower case and in capitals."""
    service = routing_service.RoutingService.__new__(routing_service.RoutingService)
    forms = ("how does {} work", "({}), and  then?", "{} or {}")
    words = [form for key in service.ACRONYM_DICT for form in (key, key.upper())]
    texts = [form.format(*[word] * form.count("{}")) for word in words for form in forms]
    return [[text, service.preprocess_query(text)] for text in texts]


def aged(seconds):
    """Returns Roampal's words for an age. The time has a zone, because 0.6.0 drops it and compares with local time."""
    return system._humanize_age((datetime.now().astimezone() - timedelta(seconds=seconds)).isoformat())


def graph(folder):
    from roampal.backend.modules.memory.knowledge_graph_service import KnowledgeGraphService

    async def save():
        pass

    made = KnowledgeGraphService(*(Path(folder) / name for name in ("routing.json", "content.json", "relations.json")))
    made._debounced_save_kg = save
    return made


async def routed(case):
    with tempfile.TemporaryDirectory() as folder:
        known = graph(folder)
        for text, collection, outcome in case["told"]:
            await known.update_kg_routing(text, collection, outcome)
        service = routing_service.RoutingService(known)
        concepts = known.extract_concepts(case["query"])
        routes = {concept: known.knowledge_graph["routing_patterns"].get(concept) for concept in concepts}
        return {
            "recommended": service.get_tier_recommendations(concepts),
            "scores": service.calculate_tier_scores(concepts),
            "routes": {concept: [one["best_collection"], one["success_rate"]] for concept, one in routes.items() if one},
        }


async def solved(case):
    with tempfile.TemporaryDirectory() as folder:
        known = graph(folder)
        for text, id, outcome in case["told"]:
            if outcome == "worked":
                await known.track_problem_solution(id, {"query": text, "text": "the solution"}, None)
        found = await known.find_known_solutions(case["query"], lambda _collection, id: {"id": id, "distance": 1.0})
        exactly = [[one["id"], one["solution_success_count"]] for one in found if one.get("is_known_solution")]
        signature = {text: sorted(known.extract_concepts(text)[:5]) for text in [case["query"], *(told[0] for told in case["told"])]}
        return {"exactly": exactly, "same": [text for text in signature if signature[text] == signature[case["query"]]]}


async def main():
    asked = json.load(sys.stdin)
    got = {
        "spelled": spelled(),
        "ages": [aged(seconds) for seconds in asked["ages"]],
    }
    if asked["graphs"]:
        memory = system.UnifiedMemorySystem.__new__(system.UnifiedMemorySystem)
        with tempfile.TemporaryDirectory() as folder:
            known = graph(folder)
            got["concepts"] = [sorted(known.extract_concepts(text)) for text in asked["texts"]]
        got["contexts"] = [await memory.detect_context_type([text]) for text in asked["texts"]]
        got["routes"] = [await routed(case) for case in asked["routes"]]
        got["solutions"] = [await solved(case) for case in asked["solutions"]]
    if faults:
        sys.exit("\n".join(faults[:5]))
    answer(got)


asyncio.run(main())
