/** Example project that `palace up demo` files, with its questions. */

export const DEMO_PROJECT: Readonly<Record<string, string>> = {
  "README.md": `# Harbour

Harbour books berths for sailing boats. The server is written in Go, the pages in TypeScript.

## Start it

Type \`make dev\`. It starts the server on port 8080 and a database in a container, with example berths.

## Tests

\`make test\` runs all tests in two minutes. Tests of the payment provider use its sandbox, and need the key in \`.env.test\`.
`,
  "docs/deploy.md": `# Deployment

## Usual way

We deploy on Tuesdays and Thursdays at ten, after the harbour masters' morning round. \`make release\` builds the image, runs the
migrations and moves a tenth of the visitors to it. After twenty quiet minutes it takes the rest.

## Roll back

\`make rollback\` puts the previous image back within a minute. Migrations only add columns, so the old image still works.
`,
  "docs/decisions.md": `# Decisions

## Postgres instead of MySQL

We chose Postgres because its exclusion constraints refuse two bookings of one berth for the same night. In MySQL we had to lock the
whole table, and bookings waited for each other every Friday evening.

## No mobile app

Skippers book from a phone's browser. An app would need a release for each change of the harbour fees.
`,
  "docs/incidents.md": `# Incidents

## Emails sent twice, in March

A retry sent the confirmation again because the job was marked as done only after the mail server's answer. The job now carries a key,
and the mail server drops a second message with the same key.

## Full disk, in June

The access log filled the disk. Logs are rotated daily now and kept for two weeks.
`,
};

export const DEMO_QUESTIONS: readonly string[] = [
  "why did we choose Postgres",
  "how do I roll back a deployment",
  "what was wrong with the emails that were sent twice",
];
