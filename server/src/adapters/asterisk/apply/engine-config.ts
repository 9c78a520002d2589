/**
 * The engine's side of an apply: proves files on a throw-away engine, writes them, reloads the live engine and reads it back.
 */
import { stat } from 'node:fs/promises';
import { ServiceError, messageOf } from '../../../core/errors.ts';
import type { Log } from '../../../core/log.ts';
import type { Certificates } from '../../../ports/certificates.ts';
import type { Site } from '../../../ports/site.ts';
import type {
  EngineConfig,
  EngineFiles,
  EngineProblem,
  FileOnDisk,
  Preparation,
  Proof,
} from '../../../ports/engine-config.ts';
import type { Common } from '../../../ports/common.ts';
import { consoleText } from '../console-text.ts';
import { AmiConnection } from '../ami/connection.ts';
import { ListVoid } from '../ami/pending.ts';
import { hiddenSecrets } from '../conf/hidden.ts';
import { renderedLanguages } from '../conf/language-contexts.ts';
import { renderSite } from '../conf/render.ts';
import { TURN_FILE } from '../conf/turn-file.ts';
import { diskOf, handWrittenFiles, readFileOf, writeFiles } from '../conf/write.ts';
import { etcDir } from '../conf/instance.ts';
import type { AsteriskProgram, Instance, InstanceSettings } from '../conf/instance.ts';
import { consoleFile } from '../process/console-log.ts';
import { endChosenPins, restoreChosenPins } from '../mailbox-folders.ts';
import { neededPrompts } from '../sounds/needed-prompts.ts';
import type { Languages } from '../sounds/languages.ts';
import { contactsOf, endRegistrations, passwordsIn } from '../sip-proxy/contact-addresses.ts';
import type { TurnServer } from '../turn/server.ts';
import { compare, withWords } from './compare.ts';
import { endSubscriptions } from './former-subscriptions.ts';
import { handshakeProblem, hostsOf, securedTransports } from './handshake.ts';
import { readProblems } from './log-words.ts';
import { FILE_OF, kindOf } from './meant.ts';
import type { Kind, Objects } from './meant.ts';
import { PHONE_FILES, changedAndBeside, deskPhones } from './phone-sections.ts';
import { ALL_KINDS, PHONES, Prover, namesOf, unknownApplications } from './prover.ts';
import type { FullProof } from './prover.ts';
import { readApplications, readBack } from './read-back.ts';
import type { Asked } from './read-back.ts';
import { needsRestart, ownerOf, reloadParts } from './reload.ts';
import { UnreadFiles } from './unread.ts';

export interface EngineConfigOptions extends Common<'clock' | 'log'> {
  /** The site as this engine has it, where there are several. */
  readonly here?: ((site: Site) => Site) | undefined;
  readonly instance: Instance;
  readonly settings: InstanceSettings;
  /** Null until the program is known. */
  readonly program: () => AsteriskProgram | null;
  /** Keeps the certificate of SIP over TLS; without it none is rendered. */
  readonly certificates?: Certificates;
  /** The TURN server beside the engine; without it the file for it is only written. */
  readonly turn?: Pick<TurnServer, 'prepare' | 'take'>;
  /** Sounds of languages; without it they are not looked for. */
  readonly languages?: Pick<Languages, 'lacking' | 'prepare'>;
  /** Limit of a proof; 60 s. */
  readonly prove_ms?: number;
  /** From this many endpoints on, they are read one by one; 6,000. */
  readonly many?: number;
}

/** From this many endpoints on, those needed are read individually: the engine sorts its own list in quadratic time. */
const MANY = 6_000;
/** Wait for the words of the engine's log: interval and limit. */
const LOG_MS = { every: 50, most: 1_000 } as const;
const DIALPLAN = FILE_OF.dialplan;
const MAILBOXES = FILE_OF.mailbox;
const SIP: readonly Kind[] = ['endpoint', 'auth', 'aor', 'identify', 'registration'];

/** Kinds of objects defined in any of these files. */
function kindsOf(names: readonly string[]): ReadonlySet<Kind> {
  const owners = new Set(names.map(ownerOf));
  // Shared and hand-written files are loaded with every file of their part.
  const sip = owners.has('pjsip_shared.conf') || names.includes('custom/pjsip.conf');
  return new Set([...ALL_KINDS].filter((kind) => owners.has(FILE_OF[kind]) || (sip && SIP.includes(kind))));
}

/** Without the objects of phones other than these. */
function withoutOtherPhones(wanted: Objects, names: ReadonlySet<string>): Objects {
  const isOther = (key: string): boolean => {
    const name = key.slice(key.indexOf(' ') + 1);
    return PHONES.has(kindOf(key)) && !(names.has(name) && wanted.has(`endpoint ${name}`));
  };
  return new Map([...wanted].filter(([key]) => !isOther(key)));
}

export class AsteriskConfig implements EngineConfig {
  readonly #options: EngineConfigOptions;
  readonly #log: Log;
  readonly #etc: string;
  readonly #prover: Prover;
  readonly #unread: UnreadFiles;
  /** End of the engine's log when it was last asked to reload files. */
  #logFrom: number | null = null;
  readonly hidden = hiddenSecrets;
  readonly needsRestart = needsRestart;

  constructor(options: EngineConfigOptions) {
    const { clock, instance, prove_ms } = options;
    this.#options = options;
    this.#log = options.log.child({ part: 'engine-config' });
    this.#etc = etcDir(instance);
    this.#prover = new Prover({ home: instance.folder, clock, prove_ms });
    this.#unread = new UnreadFiles(instance);
  }
  get ready(): boolean {
    return this.#options.program() !== null;
  }
  render(site: Site): EngineFiles {
    const { instance, settings } = this.#options;
    const here = this.#options.here?.(site) ?? site;
    return renderSite(here, instance, this.#needProgram(), settings);
  }
  onDisk(names: Iterable<string>): Promise<readonly FileOnDisk[]> {
    return diskOf(this.#etc, names);
  }
  read(name: string, backup: boolean = false): Promise<string | null> {
    return readFileOf(this.#etc, name, backup);
  }
  async certify(files: EngineFiles): Promise<void> {
    const secured = securedTransports(files.get('pjsip.conf') ?? '');
    if (secured.length > 0 || /^cert=/m.test(files.get(TURN_FILE) ?? ''))
      await this.#options.certificates?.ensure(hostsOf(secured));
  }
  async prove(files: EngineFiles, signal?: AbortSignal): Promise<Proof> {
    const program = this.#needProgram();
    const all = new Map([...files, ...(await this.#handWritten())]);
    await this.certify(files);
    await this.#options.turn?.prepare(files.get(TURN_FILE) ?? '', signal);
    return await this.#prover.prove(all, program, signal);
  }
  async prepare(files: EngineFiles, signal?: AbortSignal): Promise<Preparation> {
    const { languages } = this.#options;
    if (languages === undefined) return { problems: [], notices: [] };
    return await languages.prepare(
      renderedLanguages(files.get(DIALPLAN) ?? ''),
      neededPrompts(files),
      signal,
    );
  }
  /** As `prepare`, for the files on the disk. */
  async prepareWritten(signal?: AbortSignal): Promise<Preparation> {
    return await this.prepare(await this.#written(), signal);
  }
  /** Prompts that the files on the disk can play and a language lacks. */
  async lackingPrompts(language: string): Promise<readonly string[]> {
    const { languages } = this.#options;
    return (await languages?.lacking(language, neededPrompts(await this.#written()))) ?? [];
  }
  async write(files: EngineFiles, back = false): Promise<readonly string[]> {
    const { instance } = this.#options;
    const former = await this.read(MAILBOXES);
    const text = files.get(MAILBOXES) ?? former;
    if (!back && former !== null && text !== null && text !== former)
      await endChosenPins(instance, former, text);
    try {
      const changed = await writeFiles(this.#etc, files, (names) => this.#unread.add(names));
      return [...new Set([...changed, ...(await this.#unread.names())])];
    } finally {
      // Also after a write that failed, or was interrupted before this one.
      await restoreChosenPins(instance, () => this.read(MAILBOXES));
    }
  }
  async reload(names: readonly string[], signal?: AbortSignal): Promise<void> {
    const { instance, clock } = this.#options;
    if (needsRestart(names).length === names.length) return;
    this.#logFrom = await stat(consoleFile(instance)).then(
      (s) => s.size,
      () => 0,
    );
    await this.#withEngine(signal, ({ ami }) =>
      reloadParts(ami, names, { clock, ...(signal ? { signal } : {}) }),
    );
  }
  async verify(
    proof: Proof,
    names: readonly string[],
    signal?: AbortSignal,
    depth: 'all' | 'changed' = 'all',
  ): Promise<readonly EngineProblem[]> {
    const different = await this.#differences(proof, names, signal, depth);
    const problems = different.length > 0 ? different : await this.#endFormer(names, signal);
    if (problems.length === 0)
      await this.#unread.remove(names).catch((error: unknown) => {
        this.#log.warn({ error: messageOf(error) }, 'the next start reloads files that the engine has read');
      });
    return problems;
  }
  async #differences(
    proof: Proof,
    names: readonly string[],
    signal: AbortSignal | undefined,
    depth: 'all' | 'changed',
  ): Promise<readonly EngineProblem[]> {
    const { wanted, meant } = proof as FullProof;
    const kinds = kindsOf(names);
    const turn = names.includes(TURN_FILE) ? ((await this.#options.turn?.take(signal)) ?? null) : null;
    if (turn !== null) return [{ object: 'network site', file: TURN_FILE, words: turn }];
    if (kinds.size === 0) return [];
    const many = namesOf(wanted, 'endpoint').length > (this.#options.many ?? MANY);
    const shared = names.includes('pjsip_shared.conf') || names.includes('custom/pjsip.conf');
    const some = many && depth === 'changed' && !shared;
    const found = await this.#withEngine(signal, async (asked) => {
      const phones = kinds.has('endpoint') || kinds.has('auth') || kinds.has('aor');
      const changed = phones ? await this.#changedEndpoints(names) : [];
      const all = phones && (many || shared) && !some ? namesOf(wanted, 'endpoint') : [];
      const endpoints = [...new Set([...all, ...changed])];
      const expected = some ? withoutOtherPhones(wanted, new Set(endpoints)) : wanted;
      if (kinds.has('identify')) endpoints.push(...meant.identified);
      const held = await readBack(asked, { kinds, endpoints }, many);
      const steps = kinds.has('dialplan') ? unknownApplications(meant, await readApplications(asked)) : [];
      return [...steps, ...compare(expected, held, kinds)];
    });
    const owners = new Set(names.map(ownerOf));
    const own = meant.problems.filter((problem) => problem.file !== null && owners.has(problem.file));
    const handshakes = owners.has('pjsip.conf') ? await this.#handshakes(signal) : [];
    const problems = [...own, ...found, ...handshakes];
    return withWords(problems, await this.#logged(problems.length > 0, signal));
  }
  /** Has the living engine read its certificate again; calls and connections stay. Throws where it shows another one then. */
  async takeCertificate(signal?: AbortSignal): Promise<void> {
    if (securedTransports((await this.read('pjsip.conf')) ?? '').length === 0) return;
    await this.reload(['pjsip.conf'], signal);
    const [problem] = await this.#handshakes(signal);
    if (problem !== undefined) throw new ServiceError('invalid_configuration', problem.words);
  }
  handWritten(): Promise<readonly FileOnDisk[]> {
    return handWrittenFiles(this.#etc);
  }

  /**
   * Problems in the engine's log since the reload. The engine writes its log after its answers, so where something is wrong
   * (`expected`) its words are awaited for a moment.
   */
  async #logged(expected: boolean, signal: AbortSignal | undefined): Promise<readonly EngineProblem[]> {
    const { instance, clock } = this.#options;
    if (this.#logFrom === null) return [];
    for (const until = clock.now() + LOG_MS.most; ;) {
      const { problems } = await readProblems(consoleFile(instance), this.#logFrom, 'live');
      if (problems.length > 0 || !expected || clock.now() >= until) return problems;
      await clock.sleep(LOG_MS.every, signal);
    }
  }
  /** Files on the disk that prompts and languages are read from. */
  async #written(): Promise<EngineFiles> {
    const texts = [DIALPLAN, FILE_OF.queue].map(
      async (name) => [name, (await this.read(name)) ?? ''] as const,
    );
    return new Map(await Promise.all(texts));
  }
  /** Problems of the transports by TLS that the files on the disk have. */
  async #handshakes(signal: AbortSignal | undefined): Promise<readonly EngineProblem[]> {
    const secured = securedTransports((await this.read('pjsip.conf')) ?? '');
    const problems = await Promise.all(
      secured.map((transport) => handshakeProblem(transport, this.#options.clock, signal)),
    );
    return problems.filter((problem) => problem !== null);
  }
  #needProgram(): AsteriskProgram {
    const program = this.#options.program();
    if (program === null)
      throw new ServiceError('engine_unavailable', 'the engine’s program is not known yet');
    return program;
  }
  /** Hand-written files by the name under which they are included. */
  async #handWritten(): Promise<EngineFiles> {
    const texts = new Map<string, string>();
    for (const { name } of await handWrittenFiles(this.#etc)) {
      const text = await readFileOf(this.#etc, name, false);
      if (text !== null) texts.set(name, text);
    }
    return texts;
  }
  async #withEngine<T>(signal: AbortSignal | undefined, use: (asked: Asked) => Promise<T>): Promise<T> {
    const { instance, clock } = this.#options;
    let ami;
    try {
      const over = { clock, log: this.#log, ...(signal ? { signal } : {}) };
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
      ami = await AmiConnection.forActions(instance, over);
    } catch (error) {
      signal?.throwIfAborted();
      throw new ServiceError('engine_unavailable', 'the engine is not running', { cause: error });
    }
    try {
      return await use({
        ami,
        ...(signal ? { signal } : {}),
        console: (text) => consoleText(instance, text, { clock, log: this.#log, signal }),
      });
    } catch (error) {
      if (!(error instanceof ListVoid)) throw error;
      throw new ServiceError('engine_unavailable', 'the answer of the engine is incomplete', {
        cause: error,
      });
    } finally {
      ami.close();
    }
  }
  /**
   * Ends what former desk phones have: registrations where the last write changed the password, because an incoming call asks no
   * phone for one and a lost phone would ring until its registration expires; subscriptions also where it removed the person. What
   * a browser has ends with its session.
   */
  async #endFormer(
    names: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<readonly EngineProblem[]> {
    if (!names.includes(FILE_OF.auth)) return [];
    const [now, before, endpoints] = await Promise.all([
      this.read(FILE_OF.auth),
      this.read(FILE_OF.auth, true),
      this.read(FILE_OF.endpoint),
    ]);
    const [desk, passwords] = [deskPhones(endpoints ?? ''), passwordsIn(now ?? '')];
    const known = before === null ? passwords : passwordsIn(before);
    const isFormer = (name: string): boolean => known.has(name) && passwords.get(name) !== known.get(name);
    const isChanged = (name: string): boolean => desk.has(name) && passwords.get(name) !== known.get(name);
    if (![...known.keys()].some(isFormer) && ![...passwords.keys()].some(isChanged)) return [];
    const { settings, clock } = this.#options;
    const { sip } = settings;
    const registered = await this.#withEngine(signal, async ({ ami, console }) => {
      await endSubscriptions(isFormer, { sip, console, clock, log: this.#log });
      return await contactsOf(ami, signal);
    });
    const former = new Set(registered.map(({ endpoint }) => endpoint).filter(isChanged));
    const left = await endRegistrations(passwords, [...former], { sip, clock, log: this.#log });
    return left.map((name) => ({
      object: `endpoint ${name}`,
      file: FILE_OF.auth,
      words: 'the engine did not end the registration with the former password',
    }));
  }
  /** Endpoints that the last write of these files changed or removed, and those beside them in the files. */
  async #changedEndpoints(names: readonly string[]): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    for (const name of PHONE_FILES.filter((file) => names.includes(file))) {
      const [now, before] = await Promise.all([
        readFileOf(this.#etc, name, false),
        readFileOf(this.#etc, name, true),
      ]);
      for (const changed of changedAndBeside(now ?? '', before ?? '')) found.add(changed);
    }
    return found;
  }
}
