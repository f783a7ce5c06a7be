import { expect, test } from "vitest";
import { usageError } from "../../../src/cli/define-verb.ts";
import { projects } from "../../../src/cli/verbs/docs.ts";
import { verb as search } from "../../../src/cli/verbs/search.ts";
import { verb as token } from "../../../src/cli/verbs/token.ts";

test("a usage error's hint shows all usages of a command in full, on one line", () => {
  expect(usageError(token.usage, "wrong").hint).toBe(
    "usage: palace bridge token add NAME [--role agent|reader|admin] [--days N] | palace bridge token list | palace bridge token revoke NAME; more: palace bridge token add --help",
  );
  const { hint } = usageError(projects.usage, "wrong");
  expect(hint).toMatch(/^usage: palace mine projects DIR .*\[--quiet\]; more: palace mine projects --help$/);
  expect(hint).not.toContain("  ");
  expect(usageError(search.usage, "wrong").hint).toMatch(/; more: palace search --help$/);
});
