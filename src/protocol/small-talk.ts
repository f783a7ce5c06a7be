/** Recognises prompts that no memory can answer. Client and broker both use it before they search for memories. Pure. */

/** Words that agree, thank, choose or ask to continue. No memory can answer a prompt that has only these words. */
const SMALL_TALK: ReadonlySet<string> = new Set(
  `ok okay k yes yeah yep yup y no nope nah n sure right correct exactly agree agreed good great fine nice cool perfect awesome lgtm
   go on ahead do it that this so continue proceed next keep going start please pls thanks thank you thx ty very much and the
   done stop wait again ja nein weiter bitte danke gut genau mach das oui non si sí vale gracias merci bien
   hello hi hey hm hmm huh see sounds looks look makes sense never mind got try retry let lets us use take pick choose
   option options choice number first second third last both either neither all any none other else one ones these those them
   what why how which when is are be can could would will shall should i me we they a an or not but then now also too just only
   more less to for from of in at by with if my your our there here think`.split(/\s+/),
);
/** Words that ask about the conversation or about a person. They mean nothing to a search that compares only words. */
const POINTING: ReadonlySet<string> = new Set(
  "who where was were am did does had has have been he she his her its".split(" "),
);

/** Returns true if no memory can answer the prompt: it is small talk, a letter or a digit. `byWords`: the search compares only words. */
export function asksNothing(prompt: string, byWords = false): boolean {
  const words =
    prompt
      .toLowerCase()
      .replaceAll(/['’]/g, "")
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.every((word) => SMALL_TALK.has(word) || /^[a-z0-9]$/.test(word) || (byWords && POINTING.has(word)));
}
