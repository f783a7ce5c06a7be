/** `palace completions SHELL` prints what a shell runs to complete `palace`. */
import { completionsFor, SHELLS } from "../commands/completions.ts";
import { describeCommands, wordsFor } from "../commands/described.ts";
import { manPage } from "../commands/man.ts";
import { nearestWord } from "../../base/nearest.ts";
import { defineVerb, usageError } from "../define-verb.ts";

const USAGE = `palace completions bash|zsh|fish
palace completions man

Prints the completions of verbs and options for a shell, or the man page.

  bash   add to ~/.bashrc: source <(palace completions bash)
  zsh    add to ~/.zshrc: source <(palace completions zsh)
  fish   palace completions fish > ~/.config/fish/completions/palace.fish
  man    palace completions man | man -l -`;

export const verb = defineVerb({
  usage: USAGE,
  args: [1, 1],
  place: "any",
  run: async ({ args: [name = ""], out }) => {
    const shell = SHELLS.find((one) => one === name);
    if (shell === undefined && name !== "man") {
      const near = nearestWord(name, [...SHELLS, "man"]);
      throw usageError(USAGE, `there is no shell ${name}${near === undefined ? "" : `; did you mean ${near}?`}`);
    }
    const commands = await describeCommands();
    const text = shell === undefined ? manPage(commands) : completionsFor(shell, wordsFor(commands));
    return out.answer({ name, text }, () => process.stdout.write(text));
  },
});
