/** A part of an address without its percent-encoding; as it is where the encoding is not valid. */
export function decoded(part: string | undefined): string {
  try {
    return decodeURIComponent(part ?? '');
  } catch {
    return part ?? '';
  }
}
