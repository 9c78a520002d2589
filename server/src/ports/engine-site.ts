/** The engine of a site as the composition root needs it: its process, link, call records and configuration. */
import type { ContactAddress } from './site-nodes.ts';
import type { NodeId } from '@offhook/contract/ids.ts';
import type { Certificates, CertificateState, Renewal } from './certificates.ts';
import type { PathProbe } from './paths.ts';
import type { Speak } from './speech.ts';
import type { CallRecords } from './call-records.ts';
import type { EngineConfig } from './engine-config.ts';
import type { Firewall } from './firewall.ts';
import type { FindAddress } from './external-address.ts';
import type { EngineVerbs, WakeRequest } from './engine-verbs.ts';
import type { Engine, SipRefusal } from './engine.ts';
import type { Homes, OtherEngine, Site } from './site.ts';
import type { Voicemail } from './voicemail.ts';

/** Age from which the packages of the engine count as old, because Debian fixes faults within days. */
export const PACKAGES_OLD_MS = 30 * 86_400_000;
/** Age of the engine's packages. */
export interface PackageAge {
  /** Date of the newest index without newer packages, else of their download; milliseconds since 1970. */
  readonly as_of: number;
  /** True when newer packages wait for the engine's next start. */
  readonly waiting: boolean;
  /** Reason why newer packages were refused; null where none were. */
  readonly refused: string | null;
}
export interface ExchangeStart {
  /** Aborting it leaves a running engine to the next service. */
  readonly signal: AbortSignal;
  /**
   * Called before an engine is started or adopted. `lives`: an earlier one still runs. Returns the files that take effect only
   * at a restart.
   */
  readonly configure: (lives: boolean) => Promise<readonly string[]>;
  /** Renders the engine's files for another program while no engine runs. False where an apply is under way. */
  readonly refit: () => Promise<boolean>;
  /** Resolves once the state of an adopted engine is known here, so that restarting it loses nothing. */
  readonly known: (signal: AbortSignal) => Promise<void>;
}
/** The engine's process. */
export interface Exchange {
  /** Finds the engine and keeps it running, in the background; never throws. */
  begin(start: ExchangeStart): void;
  /** True once the engine's process runs; its link may still be down. */
  running(): boolean;
  /** False where another program uses the address of desk phones. */
  deskPhones(): boolean;
  /** Origin of the engine's program for people; null until it was found. */
  origin(): string | null;
  /** Age of the engine's packages; null for a program of the machine, or before it was found. */
  packageAge(): Promise<PackageAge | null>;
  /** Certificate of SIP over TLS. */
  certificate(): CertificateState;
  /** The TURN server; null where the site has none. */
  turn(): Finding | null;
  /** Current activity or problem, one sentence for people. */
  state(): string;
  /** Access of the configuration to the engine. */
  readonly engineConfig: EngineConfig;
  /** Stops the engine once no call is left, and starts it again at once. */
  restartWhenConvenient(): Promise<void>;
  /**
   * Makes a running engine reject new calls and end after its last call; then the engine is started again. Resolves
   * with the function that cancels this.
   */
  retire(): Promise<() => Promise<void>>;
  /**
   * Number of calls that the engine has now; 0 where none runs. Throws `engine_unavailable`, also while it waits for its last call after
   * `retire`.
   */
  calls(): Promise<number>;
  /** Stops the engine too; abort the signal first. */
  stop(): Promise<void>;
  /** Leaves the engine and its calls to the next service; abort the signal first. */
  release(): Promise<void>;
}

export interface Finding {
  readonly ok: boolean;
  readonly detail: string;
}
/** Checks on a schedule that the engine works. */
export interface EngineWatch {
  /** Names of the checks; `sip` is the one of the address for desk phones. */
  readonly checks: readonly string[];
  finding(check: string): Finding;
  /** Length of the engine's fullest task queue. */
  readonly waitingTasks: number;
  close(): Promise<void>;
}
/** Everything the service asks of an engine. */
export interface SiteEngine extends Engine, EngineVerbs {}

/** Intended membership of an agent in a queue. */
export interface WantedMember {
  readonly extension: string;
  readonly queue: string;
  readonly member: boolean;
  /** False for one that the configuration lists. */
  readonly dynamic: boolean;
  readonly paused: boolean;
  readonly reason: string;
  readonly penalty: number;
}
export interface EngineSite {
  readonly node: NodeId;
  /** Folders of uploaded sounds and of recordings of calls. */
  readonly folders: { readonly sounds: string; readonly recordings: string };
  readonly exchange: Exchange;
  /** The certificate of every listener by TLS; null where nothing ends TLS. */
  readonly certificates: Certificates | null;
  /** Null where no authority issues them by ACME. */
  readonly renewal: Renewal | null;
  readonly callRecords: Required<CallRecords>;
  /** Call records of another engine of the site. */
  otherRecords(node: string): CallRecords;
  readonly voicemail: Voicemail;
  /** Voicemail of another engine of the site, whose methods throw `engine_unavailable` while its node is away; null where no way leads there. */
  otherVoicemail(node: string): Voicemail | null;
  /** Access of the configuration to all engines of the site; null if it has one. */
  readonly wholeConfig?: EngineConfig | null;
  /** Manager interface of the engine on this machine: its port on loopback, and accounts. */
  readonly manager?: { readonly port: number; readonly accounts: object };
  /** Names of the engine's own sounds; empty until its program is found. */
  builtInSounds(): Promise<readonly string[]>;
  readonly speak: Speak;
  /** Prompts that the applied configuration can play and a language lacks; empty where that is not known. */
  lackingPrompts(language: string): Promise<readonly string[]>;
  /** Call it once; the link connects when the events are read. */
  createEngine(options: {
    readonly refused: (refusal: SipRefusal) => void;
    readonly wake: (request: WakeRequest) => void;
    /** The engines to follow beside its own; none or absent where the site has one engine. */
    readonly others?: readonly OtherEngine[];
    /** Read at each command. */
    readonly homes: Homes;
  }): SiteEngine;
  /**
   * Puts members into the queues of an engine that nothing follows yet, so that its first snapshot shows them. Those that it refuses
   * are left to the reconciliation. Throws `engine_unavailable`.
   */
  putMembers(members: readonly WantedMember[]): Promise<void>;
  /** Desk phones that are registered through the SIP proxy now. Throws `engine_unavailable`. */
  contactAddresses(signal: AbortSignal): Promise<readonly ContactAddress[]>;
  /**
   * Registers phones here as they are at another node, and unregisters those whose time is over. Resolves with those that the engine
   * did not take.
   */
  registerAddresses(addresses: readonly ContactAddress[]): Promise<readonly ContactAddress[]>;
  /** `up`: whether the engine of `createEngine` is followed. */
  watch(up: () => boolean): EngineWatch;
  /**
   * Moves voicemail of numbers with another or no owner aside, and restores that of an owner who has the number again. `owners` are
   * those of the whole site; undefined moves nothing. Throws errors of the file system, and an error for a damaged record of the owners.
   */
  moveMailboxes(owners: Site['mailbox_owners']): Promise<void>;
  /**
   * Replaces the networks whose SIP requests the engine rejects. Resolves to false if they take effect only at its next
   * start; throws `engine_unavailable` while there is no engine, which then reads the list when it starts.
   */
  blockNetworks(networks: readonly string[]): Promise<boolean>;
  /** Null where the settings use none. */
  readonly firewall: Firewall | null;
  /** Addresses of the phones that are registered now, and of trunks as the engine knows them. Throws `engine_unavailable`. */
  phoneAddresses(): Promise<readonly string[]>;
  /** Looks for the address by which this machine is reached from outside. */
  readonly findAddress: FindAddress;
  /** Null where it has no ways that could be tried. */
  readonly paths: PathProbe | null;
  /** Port on loopback at which browsers' SIP is accepted; null where there is none now. */
  webSipPort(): number | null;
}
