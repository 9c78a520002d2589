/** The list as it was left, so that the way back from a conversation leads to it and not to another one. */
let search = '';
export const keepList = (now: string): void => void (search = now);
export const listAddress = (): string => (search === '' ? '/history' : `/history?${search}`);
/** No character of an id means anything in a path. */
export const conversationAddress = (id: string): string => `/history/${id}`;
/** The id as it stands in the path, which somebody else may have encoded. */
export function idOf(part: string | undefined): string {
  try {
    return decodeURIComponent(part ?? '');
  } catch {
    return part ?? '';
  }
}
