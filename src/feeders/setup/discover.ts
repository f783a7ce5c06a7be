/** Finds people and projects of a folder, first in manifests and commits, then in prose (palace.md 5.8). */
import type { Entities, Entity } from "./entity.ts";
import type { Person } from "./people.ts";
import { namesInProse } from "./prose.ts";
import { type Project, scanRepositories } from "./repositories.ts";

const SHOWN_MAX = 15;

export function discoverEntities(root: string): Entities {
  const { projects, people } = scanRepositories(root);
  const known: Entities = {
    people: people.slice(0, SHOWN_MAX).map(ofPerson),
    projects: projects.slice(0, SHOWN_MAX).map(ofProject),
    uncertain: [],
  };
  const named = namesInProse(root);
  // Shows uncertain names only if manifests and commits have no person and no project.
  if (projects.length + people.length > 0) named.uncertain = [];
  const seen = new Set(Object.values(known).flatMap((list) => list.map(({ name }) => name.toLowerCase())));
  for (const kind of ["people", "projects", "uncertain"] as const)
    for (const entity of named[kind]) {
      const key = entity.name.toLowerCase();
      if (!seen.has(key)) known[kind].push(entity);
      seen.add(key);
    }
  return known;
}

function ofProject({ name, manifest, hasGit, commits, ownCommits, isOwn }: Project): Entity {
  const share =
    isOwn && ownCommits > 0
      ? `${ownCommits} of your commits`
      : ownCommits > 0
        ? `${ownCommits}/${commits} yours`
        : `${commits} commits (none by you)`;
  const signals = [...(manifest === undefined ? [] : [manifest]), ...(hasGit ? [share] : [])];
  const confidence = isOwn ? 0.99 : hasGit && commits > 0 ? 0.7 : 0.85;
  return {
    ...{ name, kind: "project", confidence, count: ownCommits || commits },
    signals: [signals.join(", ") || "repo"],
  };
}

function ofPerson({ name, commits, repositories }: Person): Entity {
  const many = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
  return {
    ...{ name, kind: "person", count: commits },
    confidence: commits >= 100 || repositories >= 3 ? 0.99 : commits >= 20 ? 0.85 : 0.65,
    signals: [`${many(commits, "commit")} across ${many(repositories, "repo")}`],
  };
}
