/** The G.711 packets that pass the provider, by the first bytes of each payload: to and from the office, and its subscriber. */
import { ADDRESSES, nftIn } from './nets.ts';

export interface Heard {
  /** Payloads between the provider and its subscriber, who does not encrypt. */
  readonly clear: ReadonlySet<number>;
  /** Payloads from the office to the provider. */
  readonly received: ReadonlySet<number>;
  /** Payloads from the provider to the office. */
  readonly sent: ReadonlySet<number>;
}
const SETS = ['clear', 'received', 'sent'] as const;
/** RTP of version 2 without extension and of payload type 0; an element is the six bytes after the header. */
const head = (set: (typeof SETS)[number]): string => `@th,64,8 0x80 @th,73,7 0 add @${set} { @th,160,48 };`;
const { provider, officeGateway } = ADDRESSES;
const RULES = `table ip wire {
${SETS.map((name) => `  set ${name} { typeof @th,160,48; flags dynamic; size 65535; }`).join('\n')}
  chain in {
    type filter hook input priority 0;
    ip saddr ${provider} meta l4proto udp ${head('clear')}
    ip saddr ${officeGateway} meta l4proto udp ${head('received')}
  }
  chain out {
    type filter hook output priority 0;
    ip daddr ${officeGateway} meta l4proto udp ${head('sent')}
  }
}
`;
interface Listed {
  readonly nftables: readonly { readonly set?: { readonly elem?: readonly number[] } }[];
}

/** Starts to note the payloads that pass the provider. */
export const tapProvider = (): string => nftIn('public', ['-f', '-'], RULES);
/** The payloads noted since the start, or since the last call of this. */
export function takeHeard(): Heard {
  const all = SETS.map((name) => {
    const listed = JSON.parse(nftIn('public', ['-j', 'list', 'set', 'ip', 'wire', name])) as Listed;
    nftIn('public', ['flush', 'set', 'ip', 'wire', name]);
    return new Set(listed.nftables.flatMap(({ set }) => set?.elem ?? []));
  });
  return { clear: all[0]!, received: all[1]!, sent: all[2]! };
}
