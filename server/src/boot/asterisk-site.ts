/** The site of a real engine: an Asterisk beside the service. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import { nodeId } from '@offhook/contract/ids.ts';
import { blockNetworks, phoneAddresses } from '../adapters/asterisk/blocked-networks.ts';
import { DOCTOR_EXTEN, DOCTOR_WEB } from '../adapters/asterisk/conf/call-contexts.ts';
import { diagnose } from '../adapters/asterisk/doctor/doctor.ts';
import { PASS_SECONDS, passOf } from '../adapters/asterisk/doctor/outside.ts';
import { builtInSounds } from '../adapters/asterisk/built-in-sounds.ts';
import { readAddresses, registerAddresses } from '../adapters/asterisk/sip-proxy/contact-addresses.ts';
import { CelReader } from '../adapters/asterisk/cel/reader.ts';
import { JoinedConfig } from '../adapters/asterisk/apply/joined-config.ts';
import type { FarConfig } from '../adapters/asterisk/apply/joined-config.ts';
import type { Voicemail } from '../ports/voicemail.ts';
import { siteAt } from '../adapters/asterisk/conf/engine-trunks.ts';
import { joinEngines } from '../adapters/asterisk/joined-engine.ts';
import type { LinkOptions } from '../adapters/asterisk/link.ts';
import type { CallRecords } from '../ports/call-records.ts';
import { createAsteriskEngine } from '../adapters/asterisk/engine.ts';
import type { AsteriskEngine } from '../adapters/asterisk/engine.ts';
import { celFile, recordingsDir, soundsDir, tlsDir } from '../adapters/asterisk/conf/instance.ts';
import { endLeftLocks, moveMailboxes } from '../adapters/asterisk/mailbox-folders.ts';
import { MailboxMessages } from '../adapters/asterisk/mailbox-messages.ts';
import { putMembers } from '../adapters/asterisk/put-members.ts';
import { Nftables } from '../adapters/asterisk/nftables.ts';
import { createInstance } from '../adapters/asterisk/process/instance-file.ts';
import { findAddress } from '../adapters/asterisk/turn/external-address.ts';
import { AcmeRenewal, acmeFiles } from '../adapters/certificates/acme/renewal.ts';
import { CertificateKeeper } from '../adapters/certificates/keeper.ts';
import { watchEngine } from '../adapters/asterisk/watch.ts';
import { messageOf } from '../core/errors.ts';
import type { EngineSite } from '../ports/engine-site.ts';
import type { Common } from '../ports/common.ts';
import type { Config } from './config.ts';
import { AsteriskExchange } from './exchange.ts';
import { siteKey, siteSecret } from './site-key.ts';
import { turnLogin } from '../features/sessions/turn.ts';

export interface EngineSiteOptions extends Common<'clock' | 'log'> {
  readonly config: Config;
  /** Receives lines for the terminal. */
  readonly say: (line: string) => void;
  /** Called right before a command is sent to the engine; throws where another node may lead the site. */
  readonly fence?: (() => void) | undefined;
  /** Access to the other engines of the configuration; without it they count as away. */
  readonly others?: OtherEngines | undefined;
  /** True at a home node, which reads only the part of the site for its own engine. */
  readonly home?: boolean;
}
/** By node. */
export interface OtherEngines {
  readonly connect: (node: string) => LinkOptions['connect'];
  readonly records: (node: string) => CallRecords;
  readonly voicemail: (node: string) => Voicemail | null;
  readonly config?: (node: string) => FarConfig;
}
const AWAY: OtherEngines = {
  connect: () => () => Promise.resolve(null),
  records: () => ({
    async *read(_from, signal) {
      if (!signal.aborted) await once(signal, 'abort');
      yield* [];
    },
  }),
  voicemail: () => null,
};
/** Limit of an answer of the engine's console. */
const CONSOLE_MS = 20_000;
/** Opens the engine's folder in the data folder; starts nothing. */
export type OpenEngineSite = (options: EngineSiteOptions) => Promise<EngineSite>;

export const givenFiles = ({ tlsCertificate: certificate, tlsKey: key }: Config) =>
  certificate === null || key === null ? null : { certificate, key };
/** Null where the settings name no ACME server. */
function acmeOf({ config, clock, log }: EngineSiteOptions, folder: string): AcmeRenewal | null {
  const { acmeDirectory: directory, acmeNames: names, acmeEmail: email, acmeChallenge: kind } = config;
  if (directory === null) return null;
  const trusted = config.tlsTrusted;
  return new AcmeRenewal({ folder, directory, names, email, kind, trusted, clock, log });
}

export const openAsteriskSite: OpenEngineSite = async (options) => {
  const { config, log, clock } = options;
  const instance = await createInstance(config.data, config.node === null ? {} : { node: config.node });
  const node = nodeId(instance.node);
  await endLeftLocks(instance).catch((error: unknown) =>
    log.warn({ error: messageOf(error) }, 'locks of mailboxes that a crash left could not be ended'),
  );
  const renewal = acmeOf(options, path.join(tlsDir(instance), 'acme'));
  const certificates = new CertificateKeeper({
    folder: tlsDir(instance),
    own: renewal === null ? givenFiles(config) : acmeFiles(path.join(tlsDir(instance), 'acme')),
    awaited: renewal !== null,
    trusted: config.tlsTrusted,
    clock,
    log,
  });
  const { ami_port: port, ami_events: events, ami_actions: actions } = instance;
  const manager = { port, accounts: { events, actions } };
  const key = await siteKey(config.data);
  const reach = options.others ?? AWAY;
  const leading = { node: instance.node, ...config.sipListen };
  const exchange = new AsteriskExchange({
    ...options,
    instance,
    certificates,
    siteKey: key,
    here: options.home === true ? undefined : (site) => siteAt(site, null, leading),
  });
  const signIn = (user: string, seconds: number) =>
    turnLogin(siteSecret(key, 'turn'), { user, now: clock.now(), seconds });
  // A random account that does not exist: its refusals are no attack. The engine reports 36 characters of a name.
  const healthAccount = `health-${randomBytes(8).toString('hex')}`;
  let engine: AsteriskEngine | undefined;
  const ask = (text: string): Promise<string> => exchange.console(text, AbortSignal.timeout(CONSOLE_MS));
  return {
    node,
    folders: { sounds: soundsDir(instance), recordings: recordingsDir(instance) },
    exchange,
    certificates,
    renewal,
    callRecords: new CelReader({ file: celFile(instance), node, log, clock }),
    otherRecords: reach.records,
    voicemail: new MailboxMessages(instance, { clock, log }),
    otherVoicemail: reach.voicemail,
    wholeConfig:
      reach.config === undefined
        ? null
        : new JoinedConfig({ local: exchange.engineConfig, leading, far: reach.config }),
    manager,
    builtInSounds: () => builtInSounds(exchange.program()),
    speak: (wanted, to, signal) => exchange.speak(wanted, to, signal),
    lackingPrompts: (language) => exchange.lackingPrompts(language),
    createEngine({ refused, wake, others = [], homes }) {
      engine = createAsteriskEngine({
        node,
        refused(refusal) {
          if (refusal.account !== healthAccount) refused(refusal);
        },
        wake,
        fence: options.fence,
        clock,
        log,
        connect: async () =>
          exchange.running() ? { host: '127.0.0.1', port: manager.port, ...manager.accounts } : null,
      });
      if (others.length === 0) return engine;
      const followed = others.map((one) =>
        createAsteriskEngine({
          node: nodeId(one.node),
          refused,
          wake,
          fence: options.fence,
          clock,
          log,
          connect: reach.connect(one.node),
        }),
      );
      return joinEngines({ first: engine, others: followed, homeOf: homes });
    },
    putMembers: (members) => putMembers(instance, members, { clock, log }),
    contactAddresses: (signal) => readAddresses(instance, { clock, log, signal }),
    registerAddresses: (addresses) =>
      registerAddresses(instance, addresses, { sip: config.sipListen, clock, log }),
    watch(up) {
      if (engine === undefined) throw new Error('watch() needs the engine: call createEngine() first');
      const followed = engine;
      return watchEngine({
        up: () => up() && followed.status().link === 'up',
        sip: config.sipListen,
        account: healthAccount,
        placeCall: followed.placeHealthCall,
        recordFile: celFile(instance),
        console: (text, until) => exchange.console(text, until),
        clock,
        log,
      });
    },
    moveMailboxes: (owners) => moveMailboxes(instance, owners, { clock, log }),
    blockNetworks: (networks) => blockNetworks(instance, networks, ask),
    firewall:
      config.firewall === 'nftables' ? new Nftables({ sipPort: config.sipListen.port, clock, log }) : null,
    phoneAddresses: () =>
      phoneAddresses(instance, ask, { clock, log, signal: AbortSignal.timeout(CONSOLE_MS) }),
    findAddress: findAddress(config.sipListen.host),
    paths: {
      account: DOCTOR_WEB,
      number: DOCTOR_EXTEN,
      try: (given) => diagnose(instance, { ...given, clock, signIn }),
      async pass({ host, web }) {
        const pass = await passOf(instance, { host, web, signIn });
        const hosts = [...new Set(pass.families.map((one) => one.host))];
        return { pass, hosts, expires_at: clock.now() + PASS_SECONDS * 1000 };
      },
    },
    webSipPort: () => (exchange.running() ? instance.http_port : null),
  };
};
