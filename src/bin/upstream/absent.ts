/**
 * Verbs of upstream's command line that this version does not do, each with why and what to type instead. None of them pretends:
 * the command fails and says this.
 */
type Instead = (args: readonly string[]) => readonly [why: string, hint: string];

const call = (tool: string): Instead => {
  return () => [
    "the command line has no such verb yet, the tool has",
    `palace call ${tool}; its parameters: palace tools ${tool}`,
  ];
};

export const ABSENT: Readonly<Record<string, Instead>> = {
  split: ([dir = "DIR"]) => [
    "several sessions in one file are not split into files; they are filed together",
    `mempalace mine ${dir} --mode convos`,
  ],
  compress: () => ["drawers are kept as they are; compressed copies are not made", "palace call get_aaak_spec"],
  daemon: () => ["the broker is the daemon", "palace status, palace start, palace stop"],
  serve: () => ["the broker serves all agents", "palace start"],
  update: () => ["this is another program than MemPalace's", "npm install -g palace-devbox"],
  export: ([dir = "DIR"]) => ["that is a verb of palace", `palace export ${dir}`],
  rooms: call("list_rooms"),
  wings: call("list_wings"),
  kg: call("kg_query"),
  tunnels: call("list_tunnels"),
  hallways: call("list_hallways"),
};
