/** Texts that teach an agent how to use its memory (palace.md 2.11). */

export const PROTOCOL_TEXT = `How to use this memory:
1. When you wake up, call mempalace_status to see what is remembered and how it is laid out.
2. Before you say anything about a person, a project or a past event, search first (mempalace_search) or ask the knowledge graph (mempalace_kg_query).
3. When you are not sure, look it up. A guess presented as a memory does harm.
4. At the end of a session, write a diary entry with mempalace_diary_write: what happened, what was learned, what comes next.
5. When a fact has changed, invalidate the old one (mempalace_kg_invalidate) and add the new one (mempalace_kg_add), or do both at once (mempalace_kg_supersede); do not leave both standing.`;

export const AAAK_TEXT = `AAAK is a shorthand for diaries and notes. Any reader of English can read it; write it tightly.
- People and projects: three upper-case letters, the first of the name (ALC = Alice, BEN = Ben).
- Feelings: one word between asterisks (*joy*, *worried*, *proud*).
- Fields of a line are separated by vertical bars: WHO|what|when|why.
- Dates are ISO dates: 2026-11-22. Counts are written Nx: 3x = three times.
- Importance: one to five stars, from ★ (in passing) to ★★★★★ (never forget).
- Halls name the kind of content: hall_facts, hall_events, hall_discoveries, hall_preferences, hall_advice.
- Wings are prefixed: wing_alice, wing_billing. Rooms are hyphenated slugs: auth-migration, team-rituals.
Example: 2026-11-22|ALC+BEN|chose SQLite over Postgres for the ledger|hall_events|*relieved*|★★★★
Read it as plain language; when you write, keep what another session would need and drop the rest.`;
