/** A usage error shows every way a command is called, in one line, and where more is said. */
import { expect, test } from "vitest";
import { usageError } from "../../../src/cli/verb.ts";
import { verb as projects } from "../../../src/cli/verb/projects.ts";
import { verb as search } from "../../../src/cli/verb/search.ts";
import { verb as token } from "../../../src/cli/verb/token.ts";

test("several calls, and a long one, are shown whole", () => {
  expect(usageError(token.usage, "wrong").hint).toBe(
    "usage: palace bridge token add NAME [--role agent|reader|admin] [--days N] | palace bridge token list | palace bridge token revoke NAME; more: palace bridge token add --help",
  );
  const { hint } = usageError(projects.usage, "wrong");
  expect(hint).toMatch(/^usage: palace mine projects DIR .*\[--quiet\]; more: palace mine projects --help$/);
  expect(hint).not.toContain("  ");
  expect(usageError(search.usage, "wrong").hint).toMatch(/; more: palace search --help$/);
});
