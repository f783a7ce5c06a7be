/** Lists verbs of upstream's command line that this version lacks, each with the reason and what to type instead. */
type Absent = { why: string; hint: string; actions?: string };

const LLM = "this program asks no language model";

export const ABSENT: Readonly<Record<string, Absent>> = {
  serve: {
    why: "the broker serves all agents",
    hint: "palace start; over the network: palace config set listen tcp://HOST:PORT, palace bridge token add",
  },
  update: { why: "this program is not MemPalace", hint: "npm install -g palace-devbox" },
  export: { why: "that is a verb of palace", hint: "palace export DIR" },
  audit: { why: "this program does not rate the order of a palace", hint: "palace doctor looks for what is wrong" },
  rules: { why: "this memory has no rules for agents", hint: "mempalace instructions help" },
  rooms: { why: LLM, hint: "list them: palace call list_rooms", actions: "{propose,apply} --wing WING" },
  wings: {
    why: "wings stay as they are",
    hint: "list them: palace call list_wings",
    actions: "split --wing WING [--yes]",
  },
  kg: {
    why: LLM,
    hint: "read it: palace call kg_query, palace call tools kg_query",
    actions: "normalize [--vocabulary a,b,c]",
  },
  tunnels: {
    why: "tunnels are made when a folder is mined, without a plan",
    hint: "list them: palace call list_tunnels; remove one: palace call delete_tunnel",
    actions: "{propose,prune} [--yes]",
  },
  "migrate-wings": { why: "wings keep their names here", hint: "mempalace status" },
  palace: { why: "the palace's files name the model", hint: "palace doctor", actions: "set-embedder [--model M]" },
};
