/** Address by which phones and trunks outside reach this machine. */

export interface FoundAddress {
  readonly address: string;
  /** Local address that a NAT translates to `address`; null where it is not known. */
  readonly local: string | null;
}
/** Source of the external address. */
export type AddressSource =
  | { readonly kind: 'stun'; readonly host: string; readonly port: number }
  | { readonly kind: 'interface'; readonly name: string };
/** Looks once; throws with the reason where there is none. */
export type FindAddress = (source: AddressSource, signal: AbortSignal) => Promise<FoundAddress>;
