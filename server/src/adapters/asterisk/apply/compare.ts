/** Differences between the wanted and the loaded configuration, as problems. */
import type { EngineProblem } from '../../../ports/engine-config.ts';
import { FILE_OF, kindOf } from './meant.ts';
import type { Kind, Objects } from './meant.ts';

/** Objects an engine creates by itself. */
const OWN = /^(?:conference-(?:user|bridge|menu) default_\w+|parking default|music default)$/;
/** Values that may be shown: never secrets, which are marks anyway. */
const shown = (value: string): string =>
  JSON.stringify(value.length > 200 ? `${value.slice(0, 200)}…` : value);
/** Marks are meaningless to people. */
const isMark = (value: string): boolean => /^[\w-]{43}$/.test(value);

/** Contexts with a hint of a pattern, from which the engine derives one for each number that a phone watches. */
function contextsWithPatterns(wanted: Objects): ReadonlySet<string> {
  const contexts = new Set<string>();
  for (const key of wanted.keys()) {
    const context = /^dialplan (.+),_[^,]*,hint$/.exec(key)?.[1];
    if (context !== undefined) contexts.add(context);
  }
  return contexts;
}

/** Every difference of these kinds; a value that is empty on either side means only that the object exists. */
export function compare(wanted: Objects, held: Objects, kinds: ReadonlySet<Kind>): EngineProblem[] {
  const problems: EngineProblem[] = [];
  const say = (object: string, words: string): void =>
    void problems.push({ object, file: FILE_OF[kindOf(object)], words });
  for (const [key, value] of wanted) {
    if (!kinds.has(kindOf(key))) continue;
    const got = held.get(key);
    if (got === undefined) say(key, 'it is missing in the engine');
    else if (value !== '' && got !== '' && value !== got)
      say(
        key,
        isMark(value)
          ? 'its settings are not the ones that were proven'
          : `the engine has ${shown(got)} instead of ${shown(value)}`,
      );
  }
  const more = [...held.keys()].filter((key) => kinds.has(kindOf(key)) && !wanted.has(key) && !OWN.test(key));
  const derived = more.length === 0 ? new Set<string>() : contextsWithPatterns(wanted);
  for (const key of more) {
    const context = /^dialplan (.+),[0-9*#]+,hint$/.exec(key)?.[1];
    if (context === undefined || !derived.has(context)) say(key, 'the engine has it, but it is in no file');
  }
  return problems;
}

/** The findings, with the engine's own message where its log has one about the same object. */
export function withWords(found: readonly EngineProblem[], said: readonly EngineProblem[]): EngineProblem[] {
  const byObject = new Map<string, EngineProblem>();
  for (const problem of said)
    if (problem.object !== null && !byObject.has(problem.object)) byObject.set(problem.object, problem);
  const used = new Set<EngineProblem>();
  const merged = found.map((problem) => {
    const words = problem.object === null ? undefined : byObject.get(problem.object);
    if (words === undefined) return problem;
    used.add(words);
    return { ...problem, words: words.words };
  });
  return [...said.filter((problem) => !used.has(problem)), ...merged];
}
