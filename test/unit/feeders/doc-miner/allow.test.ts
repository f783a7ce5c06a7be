import { expect, test } from "vitest";
import { folderRefusal, isShellScript, judgeName } from "../../../../src/feeders/doc-miner/document-names.ts";

const names = (text: string): string[] => text.trim().split(/\s+/);

test.each(
  names(`README.md guide.MDX notes.rst a.txt ci.yml b.yaml Cargo.toml run.sh x.bash y.zsh Dockerfile Dockerfile.base
    Containerfile Makefile GNUmakefile rules.mk justfile LICENSE LICENCE COPYING NOTICE AUTHORS CHANGELOG README LICENSE-MIT
    LICENSE-APACHE-2.0 package.json tsconfig.json tsconfig.build.json event.schema.json openapi.json openapi.v2.json
    swagger.json composer.json deno.json manifest.json renovate.json docker-compose.yml secrets.md requirements.txt`),
)("%s is documentation", (name) => {
  expect(judgeName(name).kind).toBe("take");
});

test.each(
  names(`main.ts app.py a.js style.css page.html data.json package-lock.json pnpm-lock.yaml yarn.lock Cargo.lock uv.lock
    poetry.lock npm-shrinkwrap.json pylock.toml conda-lock.yml mempalace.yaml mempal.yml entities.json photo.png
    license-check.ts table.csv query.sql events.jsonl schema.prisma`),
)("%s is not documentation", (name) => {
  expect(judgeName(name).kind).toBe("leave");
});

test.each(
  names(`.env .env.local .env.yml .npmrc .netrc id_rsa id_ed25519.pub server.pem tls.key store.p12 secrets.yaml
    db-credentials.toml passwords.yml kubeconfig.yaml .htpasswd`),
)("%s is refused as a secret", (name) => {
  expect(judgeName(name).kind).toBe("refuse");
});

test("a file without extension counts as documentation if its first line names a shell", () => {
  expect(judgeName("deploy").kind).toBe("sniff");
  for (const head of [
    "#!/bin/sh\n",
    "#!/usr/bin/env bash\nset -e",
    "#!/usr/bin/env -S zsh -f\n",
    "#! /usr/local/bin/bash\n",
  ])
    expect(isShellScript(head), head).toBe(true);
  for (const head of ["#!/usr/bin/env node\n", "#!/usr/bin/python3\n", "sh\n", "", "#!/usr/bin/fish\n", "\u007FELF"])
    expect(isShellScript(head), head).toBe(false);
});

test("the document miner never enters folders of version control, packages, environments, build output or caches", () => {
  for (const name of names(
    ".git .hg node_modules .venv venv dist build target .next coverage __pycache__ foo.egg-info .ssh",
  ))
    expect(folderRefusal(name, []), name).toBeDefined();
  for (const name of names("docs src .github packages")) expect(folderRefusal(name, []), name).toBeUndefined();
});

test("the document miner recognises a virtual environment and a cache by their files", () => {
  expect(folderRefusal("py311", ["bin", "pyvenv.cfg"])).toBe("a virtual environment");
  expect(folderRefusal("out", ["CACHEDIR.TAG"])).toBe("a cache");
});
