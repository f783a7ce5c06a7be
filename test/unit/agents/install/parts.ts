/** Returns the parts of an install with all folders below `home`. */
import { join } from "node:path";
import type { Parts } from "../../../../src/agents/install/install.ts";

export function partsIn(home: string): Parts {
  return {
    places: {
      claudeDir: join(home, ".claude"),
      claudeFile: join(home, ".claude.json"),
      claudeManagedDir: join(home, "etc"),
      opencodeDir: join(home, "opencode"),
      piDir: join(home, "pi"),
      programFolders: [join(home, "bin")],
    },
    launch: { shim: ["mempalace-mcp"], hook: "palace hook claude-code", extension: ["palace", "hook"] },
    shipped: join(home, "package"),
    stateDir: join(home, "state"),
  };
}
