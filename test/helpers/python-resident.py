"""
Forks a process for each question, which is a line {id, env, argv, code or module, seconds, socket?}. Answers with a line {id, pid} when the
process runs. When it has ended, answers with a line {id, status, sizes}, followed by its stdout and stderr. Modules that take seconds to
import are imported here once. MemPalace is not: each process imports it itself, under its own HOME and environment.
"""

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
from pathlib import Path

from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2


def say(message, *outputs):
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
    for output in outputs:
        with open(output, "rb") as file:
            sys.stdout.buffer.write(os.pread(output, os.fstat(output).st_size, 0))
    sys.stdout.buffer.flush()


def serve():
    """Returns the question in each forked process. The first process never returns: it ends with its input and kills the others."""
    running = {}
    rest = b""
    while True:
        for ready in select.select([0, *running], [], [])[0]:
            if ready != 0:
                number, pid, outputs = running.pop(ready)
                status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                os.close(ready)
                say({"id": number, "status": status, "sizes": [os.fstat(one).st_size for one in outputs]}, *outputs)
                continue
            received = os.read(0, 1 << 16)
            if received == b"":
                for _, pid, _ in running.values():
                    os.kill(pid, signal.SIGKILL)
                sys.exit()
            *lines, rest = (rest + received).split(b"\n")
            for line in lines:
                outputs = [os.memfd_create(name) for name in ("stdout", "stderr")]
                question = json.loads(line)
                pid = os.fork()
                if pid == 0:
                    for other in running:
                        os.close(other)
                    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                    for number, output in enumerate(outputs, 1):
                        os.dup2(output, number)
                    return question
                running[os.pidfd_open(pid)] = (question["id"], pid, outputs)
                say({"id": question["id"], "pid": pid})


# Modules that Chroma imports only when it opens a palace or embeds a text. onnxruntime is not among them: it starts a thread, and
# a forked process would wait for the end of that thread for ever.
for late in ("chromadb.api.rust", "tokenizers", "tqdm"):
    importlib.import_module(late)

# Without this, a forked process visits every object when it ends and so copies their memory, which takes seven eighths of its time.
gc.collect()
gc.freeze()
question = serve()
if "socket" in question:
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(question["socket"])
        for number in (0, 1):
            os.dup2(peer.fileno(), number)
signal.alarm(question["seconds"])
os.environ.clear()
os.environ.update(question["env"])
# Only this value depends on HOME, so each process sets it again.
ONNXMiniLM_L6_V2.DOWNLOAD_PATH = Path.home() / ".cache" / "chroma" / "onnx_models" / ONNXMiniLM_L6_V2.MODEL_NAME
sys.argv = question["argv"]
if "module" in question:
    sys.exit(importlib.import_module(question["module"]).main())
exec(compile(question["code"], "<question>", "exec"), {"__name__": "__main__"})
