/**
 * A scripted desk phone of Yealink that knows only its provisioning address: it fetches, reads its file, registers its first
 * line, subscribes its lamps, and fetches again when it is asked to.
 */
import { openTransport, randomTag } from '../../src/adapters/asterisk/phone/transport.ts';
import type { Dialog } from '../../src/adapters/asterisk/phone/transport.ts';
import { header, methodOf, statusOf } from '../../src/adapters/asterisk/phone/message.ts';
import { until } from './until.ts';

export interface ProvisionedPhone extends AsyncDisposable {
  /** Settings of the newest file. */
  readonly settings: ReadonlyMap<string, string>;
  /** Labels of its keys behind the lines, by value. */
  keys(): ReadonlyMap<string, string>;
  fetches: number;
  /** Events of the NOTIFY requests that came. */
  readonly events: readonly string[];
  fetch(): Promise<number>;
  register(): Promise<void>;
  /** Subscribes every key with a lamp. */
  subscribe(): Promise<void>;
  /** The newest state that the lamp of this number was told, such as `terminated`; undefined before. */
  lamp(value: string): string | undefined;
}
const LAMP = '16';

export async function provisionedPhone(address: string, mac: string): Promise<ProvisionedPhone> {
  let settings = new Map<string, string>();
  let transport: Awaited<ReturnType<typeof openTransport>> | undefined;
  const lamps = new Map<string, string>();
  const events: string[] = [];
  const set = (name: string): string => settings.get(name) ?? '';
  const agent = `Yealink SIP-T46S 66.86.0.15 ${mac.replaceAll(/..(?=.)/g, '$&:')}`;
  const keyNumbers = (): string[] =>
    [...settings.keys()].flatMap((name) => /^linekey\.(\d+)\.value$/.exec(name)?.[1] ?? []);
  const dialog = (to: string): Dialog => ({
    callId: randomTag(),
    local: `<sip:${set('account.1.user_name')}@${set('account.1.sip_server.1.address')}>;tag=${randomTag()}`,
    remote: `<${to}>`,
    target: to,
    cseq: 0,
  });
  const at = (): string => `${set('account.1.sip_server.1.address')}:${set('account.1.sip_server.1.port')}`;
  const phone: ProvisionedPhone = {
    get settings() {
      return settings;
    },
    keys: () => new Map(keyNumbers().map((n) => [set(`linekey.${n}.value`), set(`linekey.${n}.label`)])),
    fetches: 0,
    events,
    async fetch() {
      // Once it has a configuration, it asks at the address in it.
      const from = settings.get('static.auto_provision.server.url') ?? address;
      const response = await fetch(`${from.replace(/\/$/, '')}/${mac}.cfg`, {
        headers: { 'user-agent': agent },
      });
      const text = await response.text();
      if (response.status !== 200) return response.status;
      settings = new Map(
        text.split('\n').flatMap((line) => {
          const [, name, value] = /^([a-z0-9_.]+) = (.*)$/.exec(line) ?? [];
          return name === undefined ? [] : [[name, value!] as const];
        }),
      );
      phone.fetches += 1;
      return response.status;
    },
    async register() {
      transport ??= await openTransport({
        server: {
          host: set('account.1.sip_server.1.address'),
          port: Number(set('account.1.sip_server.1.port')),
        },
        username: set('account.1.auth_name'),
        password: set('account.1.password'),
        onRequest(m) {
          transport!.reply(m, { status: 200, reason: 'OK' });
          if (methodOf(m) !== 'NOTIFY') return;
          const event = header(m, 'event');
          if (event.startsWith('check-sync')) {
            events.push(event);
            void phone.fetch();
          }
          const entity = /entity="sip:([^@"]+)@/.exec(m.body)?.[1];
          const state = /<state>([a-z]+)<\/state>/.exec(m.body)?.[1];
          if (entity !== undefined && state !== undefined) lamps.set(entity, state);
        },
      });
      const own = dialog(`sip:${at()}`);
      const line = { ...own, remote: own.local.replace(/;tag=.*/, '') };
      const final = await transport.send(line, 'REGISTER', { headers: [['expires', '600']] }).response;
      if (statusOf(final) !== 200) throw new Error(`REGISTER was answered with ${final.start}`);
    },
    async subscribe() {
      for (const n of keyNumbers().filter((one) => set(`linekey.${one}.type`) === LAMP)) {
        const value = set(`linekey.${n}.value`);
        const final = await transport!.send(dialog(`sip:${value}@${at()}`), 'SUBSCRIBE', {
          headers: [
            ['event', 'dialog'],
            ['accept', 'application/dialog-info+xml'],
            ['expires', '600'],
          ],
        }).response;
        if (statusOf(final) !== 200) throw new Error(`SUBSCRIBE ${value} was answered with ${final.start}`);
        await until(`the first state of the lamp ${value}`, () => lamps.has(value));
      }
    },
    lamp: (value) => lamps.get(value),
    async [Symbol.asyncDispose]() {
      await transport?.close();
    },
  };
  return phone;
}
