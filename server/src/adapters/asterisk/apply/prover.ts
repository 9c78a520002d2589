/** Proves files on throw-away engines: what they load from slices of the files, and the problems in their logs. */
import { createHash } from 'node:crypto';
import { ServiceError, messageOf } from '../../../core/errors.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { EngineFiles, EngineProblem, Proof } from '../../../ports/engine-config.ts';
import type { AsteriskProgram } from '../conf/instance.ts';
import { compare, withWords } from './compare.ts';
import { readProblems } from './log-words.ts';
import { FILE_OF, kindOf, readMeant } from './meant.ts';
import type { Kind, Meant, Objects } from './meant.ts';
import { isSamePhone, phoneSections } from './phone-sections.ts';
import type { PhoneSections } from './phone-sections.ts';
import { readApplications, readBack } from './read-back.ts';
import { DidNotBoot, startShadow } from './shadow.ts';
import { slicesOf, withoutPhones } from './slices.ts';
import type { Slice } from './slices.ts';

export interface FullProof extends Proof {
  readonly wanted: Objects;
  readonly meant: Meant;
  readonly phones: PhoneSections;
}

const PROVE_MS = 60_000;
/** Number of kept proofs, so that the way back to the previous files needs no engine. */
const KEPT = 4;
export const ALL_KINDS: ReadonlySet<Kind> = new Set(Object.keys(FILE_OF) as Kind[]);
/**
 * An engine creates a registration only if it can send it, and a throw-away engine has transports without sockets: both are
 * checked in the live engine.
 */
const PROVEN: ReadonlySet<Kind> = new Set(
  [...ALL_KINDS].filter((kind) => kind !== 'registration' && kind !== 'transport'),
);
export const PHONES: ReadonlySet<Kind> = new Set(['endpoint', 'auth', 'aor']);
/** Throw-away engines at once. */
const ENGINES = 2;

export const namesOf = (objects: Objects, kind: Kind): string[] =>
  [...objects.keys()].filter((key) => key.startsWith(`${kind} `)).map((key) => key.slice(kind.length + 1));

/** Steps that use an application of no loaded module: the engine accepts them, and they fail during a call. */
export function unknownApplications(meant: Meant, known: ReadonlySet<string>): EngineProblem[] {
  const problems: EngineProblem[] = [];
  for (const [key, value] of meant.objects) {
    if (kindOf(key) !== 'dialplan' || !value.includes('(') || key.endsWith(',hint')) continue;
    const app = value.slice(0, value.indexOf('('));
    if (!known.has(app.toLowerCase()))
      problems.push({
        object: key,
        file: FILE_OF.dialplan,
        words: `there is no application ${JSON.stringify(app)}`,
      });
  }
  return problems;
}

export interface ProverOptions {
  /** Folder in which the throw-away engines get theirs. */
  readonly home: string;
  readonly clock: Clock;
  /** Limit of a proof; 60 s. */
  readonly prove_ms?: number | undefined;
}
export class Prover {
  readonly #options: ProverOptions;
  /** Proofs by the hash of their files, the newest last. */
  readonly #proofs = new Map<string, FullProof>();

  constructor(options: ProverOptions) {
    this.#options = options;
  }
  /** The proof of these files, the hand-written ones included; a proof without problems is kept. */
  async prove(all: EngineFiles, program: AsteriskProgram, signal?: AbortSignal): Promise<Proof> {
    const hash = createHash('sha256');
    for (const name of [...all.keys()].sort()) hash.update(`${name}\0${all.get(name)}\0`);
    const key = hash.digest('base64url');
    const before = this.#proofs.get(key);
    if (before !== undefined) {
      this.#proofs.delete(key);
      this.#proofs.set(key, before);
      return before;
    }
    const late = AbortSignal.timeout(this.#options.prove_ms ?? PROVE_MS);
    const over = signal === undefined ? late : AbortSignal.any([signal, late]);
    let proof: FullProof;
    try {
      proof = await this.#boot(all, program, over);
    } catch (error) {
      signal?.throwIfAborted();
      if (late.aborted)
        throw new ServiceError('engine_timeout', 'the throw-away engine took too long', { cause: error });
      if (error instanceof ServiceError) throw error;
      throw new ServiceError(
        'engine_unavailable',
        `no throw-away engine could be started: ${messageOf(error)}`,
        {
          cause: error,
        },
      );
    }
    if (proof.problems.length === 0) {
      this.#proofs.set(key, proof);
      for (const oldest of [...this.#proofs.keys()].slice(0, -KEPT)) this.#proofs.delete(oldest);
    }
    return proof;
  }
  /** Settings that one throw-away engine loaded from its slice, and problems in its log. */
  async #bootSlice(slice: Slice, meant: Meant, program: AsteriskProgram, signal: AbortSignal) {
    await using shadow = await startShadow(slice.files, meant.transports, {
      home: this.#options.home,
      program,
      clock: this.#options.clock,
      signal,
    });
    const held = await readBack(
      shadow.asked,
      { kinds: slice.whole ? PROVEN : PHONES, endpoints: slice.endpoints },
      false,
    );
    const applications = slice.whole ? await readApplications(shadow.asked) : null;
    const { problems } = await readProblems(shadow.log, 0, 'shadow');
    const steps = applications === null ? [] : unknownApplications(meant, applications);
    return { held, steps, problems };
  }
  /**
   * Phones that an engine loaded in the newest proof with every text they depend on: their names, and the marks of their objects.
   * The engine builds each phone from its own sections alone, so they need no second proof.
   */
  #knownPhones(
    names: readonly string[],
    phones: PhoneSections,
  ): { readonly names: ReadonlySet<string>; readonly marks: Objects } {
    const newest = [...this.#proofs.values()].at(-1);
    const marks = new Map<string, string>();
    const known = new Set<string>();
    for (const name of names) {
      if (newest === undefined || !isSamePhone(name, newest.phones, phones)) continue;
      const own = [...PHONES].map(
        (kind) => [`${kind} ${name}`, newest.wanted.get(`${kind} ${name}`) ?? ''] as const,
      );
      if (own.some(([, mark]) => mark === '')) continue;
      known.add(name);
      for (const [key, mark] of own) marks.set(key, mark);
    }
    return { names: known, marks };
  }
  async #boot(files: EngineFiles, program: AsteriskProgram, signal: AbortSignal): Promise<FullProof> {
    const meant = readMeant(files);
    const phones = phoneSections(files);
    const names = namesOf(meant.objects, 'endpoint');
    const known = this.#knownPhones(names, phones);
    const rest = withoutPhones(files, known.names);
    const [own, endpoints] =
      rest === null ? [files, names] : [rest, names.filter((name) => !known.names.has(name))];
    const failed = new AbortController();
    const over = AbortSignal.any([signal, failed.signal]);
    const waiting = [...slicesOf(own, endpoints)];
    const held = new Map<string, string>(rest === null ? [] : known.marks);
    const found: EngineProblem[] = [...meant.problems];
    const said = new Map<string, EngineProblem>();
    const work = async (): Promise<void> => {
      for (let slice = waiting.shift(); slice !== undefined; slice = waiting.shift()) {
        const one = await this.#bootSlice(slice, meant, program, over);
        for (const [key, value] of one.held) held.set(key, value);
        found.push(...one.steps);
        for (const problem of one.problems) said.set(problem.words, problem);
      }
    };
    const workers = Array.from({ length: ENGINES }, () =>
      work().catch((error: unknown) => {
        failed.abort(error);
        throw error;
      }),
    );
    await Promise.allSettled(workers);
    if (failed.signal.aborted) {
      const error: unknown = failed.signal.reason;
      if (!(error instanceof DidNotBoot)) throw error;
      const words = { object: null, file: null, words: error.message };
      return { problems: [...meant.problems, words], wanted: new Map(), meant, phones };
    }
    found.push(...compare(meant.objects, held, PROVEN));
    // Objects the engine creates by itself, such as a number's hint from a pattern, are not defined by a file.
    const wanted = new Map([...meant.objects].map(([key, value]) => [key, value || (held.get(key) ?? '')]));
    return { problems: withWords(found, [...said.values()]), wanted, meant, phones };
  }
}
