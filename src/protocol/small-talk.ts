/** Words that agree, thank, choose or ask to continue. A prompt of only these words needs no search. */
const SMALL_TALK: ReadonlySet<string> = new Set(
  `ok okay k yes yeah yep yup y no nope nah n sure right correct exactly agree agreed good great fine nice cool perfect awesome lgtm
   go on ahead do it that this so continue proceed next keep going start please pls thanks thank you thx ty very much and the
   done stop wait again ja nein weiter bitte danke gut genau mach das oui non si sí vale gracias merci bien
   hello hi hey hm hmm huh see sounds looks look makes sense never mind got try retry let lets us use take pick choose
   option options choice number first second third last both either neither all any none other else one ones these those them
   what why how which when is are be can could would will shall should i me we they a an or not but then now also too just only
   more less to for from of in at by with if my your our there here think`.split(/\s+/),
);
/** Words that refer to a person or to the conversation. A search that compares only words finds nothing useful with them. */
const POINTING: ReadonlySet<string> = new Set(
  "who where was were am did does had has have been he she his her its".split(" "),
);

/** Returns true if the prompt needs no search: it has only small talk, single letters and digits. `byWords`: the search has no vectors. */
export function asksNothing(prompt: string, byWords = false): boolean {
  const words =
    prompt
      .toLowerCase()
      .replaceAll(/['’]/g, "")
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.every((word) => SMALL_TALK.has(word) || /^[a-z0-9]$/.test(word) || (byWords && POINTING.has(word)));
}
