/** A scripted desk phone in another net. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Phone, PhoneOptions } from '../phone.ts';
import { inNet } from './nets.ts';
import type { Net } from './nets.ts';
import type { Command, Result } from './phone-worker.ts';

export interface RemotePhone extends AsyncDisposable {
  /** Registers again. */
  renew(): Promise<void>;
  /** Calls and plays a tone. */
  invite(number: string): Promise<void>;
  /** Answers the next call and plays a tone; resolves with the caller's number. */
  answer(): Promise<string>;
  answered(): Promise<void>;
  /** Waits for this many packets with sound; resolves with those so far, and how many of them were encrypted. */
  hears(packets: number): Promise<{ readonly heard: number; readonly decrypted: number }>;
  hangup(): Promise<void>;
  ended(): Promise<void>;
}
const WORKER = path.join(import.meta.dirname, 'phone-worker.ts');

/** Registers a desk phone in a net. */
export async function remotePhone(net: Net, options: PhoneOptions): Promise<RemotePhone> {
  const [program = '', ...args] = inNet(net, process.execPath, WORKER);
  const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const gone = once(child, 'exit');
  const open = new Map<number, PromiseWithResolvers<unknown>>();
  let ids = 0;
  child.on('message', ({ id, value, error }: Result) => {
    const waiting = open.get(id);
    open.delete(id);
    if (error === undefined) waiting?.resolve(value);
    else waiting?.reject(new Error(`the phone in ${net}: ${error}`));
  });
  child.on('exit', () => {
    for (const { reject } of open.values()) reject(new Error(`the phone in ${net} ended`));
  });
  const ask = async <T>(name: Command['name'], ...args: readonly unknown[]): Promise<T> => {
    const waiting = Promise.withResolvers<unknown>();
    open.set((ids += 1), waiting);
    child.send({ id: ids, name, args } satisfies Command);
    return (await waiting.promise) as T;
  };
  const phone: RemotePhone = {
    renew: () => ask('renew'),
    invite: (number) => ask('invite', number),
    answer: () => ask('answer'),
    answered: () => ask('answered'),
    hears: (packets) => ask('hears', packets),
    hangup: () => ask('hangup'),
    ended: () => ask('ended'),
    async [Symbol.asyncDispose]() {
      await ask('close').catch(() => undefined);
      if (child.connected) child.disconnect();
      await gone;
    },
  };
  try {
    await ask('register', options);
  } catch (error) {
    await phone[Symbol.asyncDispose]();
    throw error;
  }
  return phone;
}
type Incoming = Awaited<ReturnType<Phone['incoming']>>;
/** The remote phone calls a scripted one, which answers with a tone; resolves once the call is up on both sides. */
export async function callOffice(home: RemotePhone, office: Phone, number: string): Promise<Incoming> {
  await home.invite(number);
  const incoming = await office.incoming();
  await incoming.answer();
  incoming.play('tone');
  await home.answered();
  return incoming;
}
