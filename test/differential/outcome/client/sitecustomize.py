"""Every Python whose PYTHONPATH names this folder loads this file. It makes the real Roampal's clients use the port of ROAMPAL_TEST_PORT instead of
27182, which other programs of this machine may use. The clients then ask no package index for updates, and end by themselves."""
import importlib.machinery
import os
import signal
import sys
import types

PORT = os.environ.get("ROAMPAL_TEST_PORT", "27182").encode()
LIFE_S = 300
read = importlib.machinery.SourceFileLoader.get_data


def at_port(self, path):
    data = read(self, path)
    return data.replace(b"27182", PORT) if "/roampal/" in path and path.endswith(".py") else data


importlib.machinery.SourceFileLoader.get_data = at_port
signal.alarm(LIFE_S)

# 0.3.6.1 imports this at once, but only its server uses it. It would load a model of 400 MB, which no test needs.
for name, part in {"sentence_transformers": "SentenceTransformer", "scipy": "stats", "scipy.stats": "norm"}.items():
    stand_in = types.ModuleType(name)
    setattr(stand_in, part, object)
    sys.modules.setdefault(name, stand_in)

# In a container, 0.6.0 would assume that no server runs.
real_exists = os.path.exists
os.path.exists = lambda path: path != "/.dockerenv" and real_exists(path)
