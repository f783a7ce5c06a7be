/** `palace devbox` manages the compose stack of this clone or package. */
import { DEVBOX_OPTIONS, type DevboxCall } from "../devbox/call.ts";
import { defineVerb, usageError } from "../define-verb.ts";

type Sub = Readonly<{ takes: readonly string[]; load: () => Promise<(call: DevboxCall) => Promise<number>> }>;

/** Subverbs, each with the options that it takes. */
const SUBS: Readonly<Record<string, Sub>> = {
  up: { takes: ["workspace", "share", "from", "fresh"], load: async () => (await import("../devbox/up.ts")).up },
  shell: { takes: [], load: async () => (await import("../devbox/shell.ts")).shell },
  status: { takes: [], load: async () => (await import("../devbox/status.ts")).status },
  recreate: { takes: ["no-build", "force"], load: async () => (await import("../devbox/recreate.ts")).recreate },
  down: { takes: ["volumes", "yes", "no-backup"], load: async () => (await import("../devbox/down.ts")).down },
  restore: { takes: ["yes"], load: async () => (await import("../devbox/restore.ts")).restore },
};

const USAGE = `palace devbox up [--workspace DIR] [--share] [--from PROJECT | --fresh]
palace devbox shell [-- CMD ...]
palace devbox status
palace devbox recreate [--no-build] [--force]
palace devbox down [--volumes [--yes PROJECT] [--no-backup]]
palace devbox restore FOLDER|FILE [--yes PROJECT]

The stack of docker-compose.yml: chroma, broker and the devbox, in which agents work. Memory and home are volumes; nothing but
down --volumes erases them. Plain docker compose works beside it.

  up        builds missing or outdated images, and starts the stack. DIR becomes /workspace and stays so (.env).
            --share: this clone shares another clone's stack from now on. --from: use it after you changed COMPOSE_PROJECT_NAME;
            it copies memory and home of the old project and keeps the old ones. --fresh: begins without them
  shell     opens a login zsh in tmux session main, as you left it; runs CMD there instead, even without a terminal
  status    shows services, health, image, volumes, workspace, drawers, the last backup, an unfinished recreate
  recreate  replaces the containers by ones from new images. It drains agents' writes, copies and verifies memory and home, and
            counts them again in the new stack. If the counts differ, it rolls back, with exit code 5. After a kill at any point, the next
            recreate or up finishes it. --no-build: uses the existing images; --force: even while a program works in the stack
  down      ends and removes the containers. --volumes also erases memory and home: you type the project's name
            (or --yes PROJECT), and the command first makes a copy (unless --no-backup)
  restore   restores a copy: FOLDER is the one that down --volumes named (memory and home), FILE a backup (memory).
            The present memory is kept beside it. If it has drawers or facts, you type the project's name first (--yes PROJECT)`;

export const verb = defineVerb({
  usage: USAGE,
  options: DEVBOX_OPTIONS,
  args: [1, 1_000],
  place: "any",
  run: async (call) => {
    const [name = "", ...rest] = call.args;
    const sub = Object.hasOwn(SUBS, name) ? SUBS[name] : undefined;
    if (sub === undefined) throw usageError(USAGE, `palace devbox has no ${name}`);
    const isForeign = (option: string): boolean => option in DEVBOX_OPTIONS && !sub.takes.includes(option);
    const foreign = Object.keys(call.values).find(isForeign);
    if (foreign !== undefined) throw usageError(USAGE, `palace devbox ${name} takes no --${foreign}`);
    if (!["shell", "restore"].includes(name) && rest.length > 0)
      throw usageError(USAGE, `unexpected argument: ${rest[0] ?? ""}`);
    return (await sub.load())({ ...call, rest });
  },
});
