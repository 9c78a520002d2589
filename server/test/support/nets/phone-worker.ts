/** A scripted desk phone in the net where this process runs, with one call at a time; `remote-phone.ts` gives the commands. */
import { registerPhone } from '../phone.ts';
import type { IncomingCall, Phone, PhoneCall, PhoneOptions } from '../phone.ts';

export interface Command {
  readonly id: number;
  readonly name: keyof typeof COMMANDS;
  readonly args: readonly unknown[];
}
export interface Result {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}
let phone: Phone | undefined;
let call: PhoneCall | IncomingCall | undefined;
const COMMANDS = {
  async register(options: PhoneOptions) {
    phone = await registerPhone(options);
  },
  renew: () => phone!.register(),
  async invite(number: string) {
    call = await phone!.invite(number);
    call.play('tone');
  },
  async answer() {
    const incoming = await phone!.incoming();
    call = incoming;
    await incoming.answer();
    incoming.play('tone');
    return incoming.party.number;
  },
  answered: () => call!.answered(),
  async hears(packets: number) {
    await call!.hears(packets);
    const { heard, decrypted } = call!.media;
    return { heard, decrypted };
  },
  hangup: () => call!.hangup(),
  ended: () => call!.ended(),
  close: () => phone?.[Symbol.asyncDispose](),
} as const satisfies Record<string, (...args: never[]) => unknown>;

process.on('message', ({ id, name, args }: Command) => {
  const work = COMMANDS[name] as (...args: readonly unknown[]) => unknown;
  void Promise.resolve()
    .then(() => work(...args))
    .then(
      (value): Result => ({ id, value }),
      (error: unknown): Result => ({ id, error: (error as Error).message }),
    )
    .then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit());
