/** The bytes of a secret as an authenticator app reads it. */
export const fromBase32 = (text: string): Buffer => {
  const bits = Array.from(text)
    .map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0'))
    .join('');
  return Buffer.from(bits.match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2)));
};
