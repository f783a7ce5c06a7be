"""Is imported before a real Roampal. Replaces Roampal's model of 400 MB, which no test needs, and collects the errors that
Roampal only logs. Roampal's prints go to stderr, so that stdout has only the answers."""
import hashlib
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


logging.basicConfig(level=logging.ERROR, handlers=[Faults(logging.ERROR)])

# 0.6.0 would look for its optional reranker in the network, and turn on a write-ahead log that not every Chroma works with.
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
    """Replaces the sentence_transformers model of 0.3.6.1, without a cross-encoder."""

    def __init__(self, *_given, **_named):
        pass

    def encode(self, texts, **_named):
        return by_words(texts) if isinstance(texts, str) else numpy.array([by_words(text) for text in texts])

    def get_sentence_embedding_dimension(self):
        return WIDTH


class Norm:
    """Replaces scipy, from which Roampal needs one function."""

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

if hasattr(embedding_service.EmbeddingService, "_encode"):
    # 0.6.0 runs the model itself, without sentence_transformers.
    embedding_service.EmbeddingService._load_model = lambda self: None
    embedding_service.EmbeddingService._encode = lambda self, texts, role="passage": numpy.array([by_words(t) for t in texts])
    embedding_service.EMBEDDING_AVAILABLE = True


def answer(told):
    """Writes the answer and exits at once, because Chroma's threads would keep the process alive."""
    json.dump(told, answers)
    answers.flush()
    os._exit(0)
