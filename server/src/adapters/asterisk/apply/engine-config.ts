/**
 * The engine's side of an apply: proves files on a throw-away engine, writes them, reloads the live engine and reads it back.
 */
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { ServiceError, messageOf } from '../../../core/errors.ts';
import type { Log } from '../../../core/log.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { EngineConfig, EngineFiles, EngineProblem, Proof } from '../../../ports/engine-config.ts';
import { AmiConnection } from '../ami/connection.ts';
import { ListVoid } from '../ami/pending.ts';
import { hiddenSecrets } from '../conf/hidden.ts';
import { renderSite } from '../conf/render.ts';
import { diskOf, handWrittenFiles, readFileOf, writeFiles } from '../conf/write.ts';
import { etcDir } from '../instance.ts';
import type { AsteriskProgram, Instance, InstanceSettings } from '../instance.ts';
import { consoleFile } from '../process/console-log.ts';
import { engineCommand } from '../process/control.ts';
import { compare, withWords } from './compare.ts';
import { readProblems } from './log-words.ts';
import { FILE_OF, kindOf, readMeant } from './meant.ts';
import type { Kind, Meant, Objects } from './meant.ts';
import { isSamePhone, phoneSections, sectionsOf } from './phone-sections.ts';
import type { PhoneSections } from './phone-sections.ts';
import { readApplications, readBack } from './read-back.ts';
import type { Asked } from './read-back.ts';
import { needsRestart, ownerOf, reloadParts } from './reload.ts';
import { slicesOf } from './slices.ts';
import type { Slice } from './slices.ts';
import { DidNotBoot, startShadow } from './shadow.ts';

export interface EngineConfigOptions {
  readonly instance: Instance;
  readonly settings: InstanceSettings;
  /** Null until the program is known. */
  readonly program: () => AsteriskProgram | null;
  readonly clock: Clock;
  readonly log: Log;
  /** Limit of a proof; 60 s. */
  readonly prove_ms?: number;
}
interface FullProof extends Proof {
  readonly wanted: Objects;
  readonly meant: Meant;
  readonly phones: PhoneSections;
}

const PROVE_MS = 60_000;
/** From this many endpoints on, each is read individually, because the engine's own list takes longer. */
const MANY = 6_000;
/** Number of kept proofs, so that the way back to the previous files needs no engine. */
const KEPT = 4;
const ALL_KINDS: ReadonlySet<Kind> = new Set(Object.keys(FILE_OF) as Kind[]);
/** An engine creates a registration only if it can send it, so registrations are checked in the live engine. */
const PROVEN: ReadonlySet<Kind> = new Set([...ALL_KINDS].filter((kind) => kind !== 'registration'));
const PHONES: ReadonlySet<Kind> = new Set(['endpoint', 'auth', 'aor']);
/** Throw-away engines at once. */
const ENGINES = 2;
const SIP: readonly Kind[] = ['endpoint', 'auth', 'aor', 'identify', 'registration'];

/** Kinds of objects defined in any of these files. */
function kindsOf(names: readonly string[]): ReadonlySet<Kind> {
  const owners = new Set(names.map(ownerOf));
  // Shared and hand-written files are loaded with every file of their part.
  const sip = owners.has('pjsip_shared.conf') || names.includes('custom/pjsip.conf');
  return new Set([...ALL_KINDS].filter((kind) => owners.has(FILE_OF[kind]) || (sip && SIP.includes(kind))));
}
const namesOf = (objects: Objects, kind: Kind): string[] =>
  [...objects.keys()].filter((key) => key.startsWith(`${kind} `)).map((key) => key.slice(kind.length + 1));

/** Steps that use an application of no loaded module: the engine accepts them, and they fail during a call. */
function unknownApplications(meant: Meant, known: ReadonlySet<string>): EngineProblem[] {
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

export function createEngineConfig(options: EngineConfigOptions): EngineConfig {
  const { instance, settings, clock } = options;
  const log = options.log.child({ part: 'engine-config' });
  const etc = etcDir(instance);
  const proofs = new Map<string, FullProof>();
  /** End of the engine's log when it was last asked to reload files. */
  let logFrom: number | null = null;

  const needProgram = (): AsteriskProgram => {
    const program = options.program();
    if (program === null)
      throw new ServiceError('engine_unavailable', 'the engine’s program is not known yet');
    return program;
  };
  /** Hand-written files by the name under which they are included. */
  async function handWritten(): Promise<EngineFiles> {
    const texts = new Map<string, string>();
    for (const { name } of await handWrittenFiles(etc)) {
      const text = await readFileOf(etc, name, false);
      if (text !== null) texts.set(name, text);
    }
    return texts;
  }
  async function withEngine<T>(
    signal: AbortSignal | undefined,
    use: (asked: Asked) => Promise<T>,
  ): Promise<T> {
    const program = needProgram();
    let ami;
    try {
      const over = { clock, log, ...(signal ? { signal } : {}) };
      // During its start the engine has not loaded everything; only this account is notified when it has.
      const booted = await AmiConnection.open({
        host: '127.0.0.1',
        port: instance.ami_port,
        ...instance.ami_events,
        events: 'system',
        wants: () => false,
        awaitBoot: true,
        ...over,
      });
      booted.close();
      ami = await AmiConnection.open({
        host: '127.0.0.1',
        port: instance.ami_port,
        ...instance.ami_actions,
        events: 'off',
        awaitBoot: false,
        ...over,
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw new ServiceError('engine_unavailable', 'the engine is not there', { cause: error });
    }
    try {
      return await use({
        ami,
        ...(signal ? { signal } : {}),
        console: async (text) =>
          (await engineCommand(program, instance, text, signal ? { signal } : {})).stdout,
      });
    } catch (error) {
      if (!(error instanceof ListVoid)) throw error;
      throw new ServiceError('engine_unavailable', 'the engine’s answer broke off', { cause: error });
    } finally {
      ami.close();
    }
  }

  /** What one throw-away engine loaded from its slice, and problems in its log; `known` are marks of unchanged phones. */
  async function bootSlice(
    slice: Slice,
    meant: Meant,
    known: Objects,
    program: AsteriskProgram,
    signal: AbortSignal,
  ) {
    await using shadow = await startShadow(slice.files, meant.transports, {
      home: instance.folder,
      program,
      clock,
      signal,
    });
    const held = await readBack(
      shadow.asked,
      {
        kinds: slice.whole ? PROVEN : PHONES,
        endpoints: slice.endpoints.filter((name) => !known.has(`endpoint ${name}`)),
      },
      false,
    );
    const applications = slice.whole ? await readApplications(shadow.asked) : null;
    const { problems } = await readProblems(shadow.log, 0, 'shadow');
    const steps = applications === null ? [] : unknownApplications(meant, applications);
    return { held, steps, problems };
  }
  /** Known marks of the phones for which the newest proof shows no difference. */
  function marksOf(names: readonly string[], phones: PhoneSections): Objects {
    const newest = [...proofs.values()].at(-1);
    const same = names.filter((name) => newest !== undefined && isSamePhone(name, newest.phones, phones));
    return new Map(
      same.flatMap((name) => {
        const mark = newest!.wanted.get(`endpoint ${name}`) ?? '';
        return mark === '' ? [] : [[`endpoint ${name}`, mark] as const];
      }),
    );
  }
  async function boot(files: EngineFiles, program: AsteriskProgram, signal: AbortSignal): Promise<FullProof> {
    const meant = readMeant(files);
    const phones = phoneSections(files);
    const names = namesOf(meant.objects, 'endpoint');
    const known = marksOf(names, phones);
    const failed = new AbortController();
    const over = AbortSignal.any([signal, failed.signal]);
    const waiting = [...slicesOf(files, names)];
    const held = new Map<string, string>();
    const found: EngineProblem[] = [...meant.problems];
    const said = new Map<string, EngineProblem>();
    const work = async (): Promise<void> => {
      for (let slice = waiting.shift(); slice !== undefined; slice = waiting.shift()) {
        const one = await bootSlice(slice, meant, known, program, over);
        for (const [key, value] of one.held) held.set(key, value || (known.get(key) ?? ''));
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

  async function prove(files: EngineFiles, signal?: AbortSignal): Promise<Proof> {
    const program = needProgram();
    const all = new Map([...files, ...(await handWritten())]);
    const hash = createHash('sha256');
    for (const name of [...all.keys()].sort()) hash.update(`${name}\0${all.get(name)}\0`);
    const key = hash.digest('base64url');
    const before = proofs.get(key);
    if (before !== undefined) {
      proofs.delete(key);
      proofs.set(key, before);
      return before;
    }
    const late = AbortSignal.timeout(options.prove_ms ?? PROVE_MS);
    const over = signal === undefined ? late : AbortSignal.any([signal, late]);
    let proof: FullProof;
    try {
      proof = await boot(all, program, over);
    } catch (error) {
      signal?.throwIfAborted();
      if (late.aborted)
        throw new ServiceError('engine_timeout', 'the throw-away engine took too long', { cause: error });
      if (error instanceof ServiceError) throw error;
      throw new ServiceError('engine_unavailable', `no throw-away engine could be had: ${messageOf(error)}`, {
        cause: error,
      });
    }
    if (proof.problems.length === 0) {
      proofs.set(key, proof);
      for (const oldest of [...proofs.keys()].slice(0, -KEPT)) proofs.delete(oldest);
    }
    return proof;
  }

  async function verify(
    proof: Proof,
    names: readonly string[],
    signal?: AbortSignal,
  ): Promise<readonly EngineProblem[]> {
    const { wanted, meant } = proof as FullProof;
    const kinds = kindsOf(names);
    if (kinds.size === 0) return [];
    const many = namesOf(wanted, 'endpoint').length > MANY;
    const found = await withEngine(signal, async (asked) => {
      const phones = kinds.has('endpoint') || kinds.has('auth') || kinds.has('aor');
      const endpoints = phones ? await changedEndpoints(names, many, wanted) : [];
      if (kinds.has('identify')) endpoints.push(...meant.identified);
      const held = await readBack(asked, { kinds, endpoints }, many);
      const steps = kinds.has('dialplan') ? unknownApplications(meant, await readApplications(asked)) : [];
      return [...steps, ...compare(wanted, held, kinds)];
    });
    const owners = new Set(names.map(ownerOf));
    const own = meant.problems.filter((problem) => problem.file !== null && owners.has(problem.file));
    const said =
      logFrom === null ? [] : (await readProblems(consoleFile(instance), logFrom, 'live')).problems;
    return withWords([...own, ...found], said);
  }
  /** Endpoints whose settings are compared: those the last write changed or removed; where there are many, all. */
  async function changedEndpoints(
    names: readonly string[],
    many: boolean,
    wanted: Objects,
  ): Promise<string[]> {
    const name = FILE_OF.endpoint;
    const [now, before] = await Promise.all([readFileOf(etc, name, false), readFileOf(etc, name, true)]);
    const [a, b] = [sectionsOf(now ?? ''), sectionsOf(before ?? '')];
    const changed = [...new Set([...a.keys(), ...b.keys()])].filter((n) => n !== '' && a.get(n) !== b.get(n));
    const all = many || names.includes('pjsip_shared.conf') || names.includes('custom/pjsip.conf');
    return all ? [...new Set([...namesOf(wanted, 'endpoint'), ...changed])] : changed;
  }

  return {
    get ready() {
      return options.program() !== null;
    },
    render: (site) => renderSite(site, instance, needProgram(), settings),
    onDisk: (names) => diskOf(etc, names),
    read: (name, backup = false) => readFileOf(etc, name, backup),
    prove,
    write: (files) => writeFiles(etc, files),
    async reload(names, signal) {
      if (needsRestart(names).length === names.length) return;
      logFrom = await stat(consoleFile(instance)).then(
        (s) => s.size,
        () => 0,
      );
      await withEngine(signal, ({ ami }) =>
        reloadParts(ami, names, { clock, ...(signal ? { signal } : {}) }),
      );
    },
    verify,
    handWritten: () => handWrittenFiles(etc),
    hidden: hiddenSecrets,
    needsRestart,
  };
}
