/** Stores the list's filters, so that the way back from a conversation leads to the same list. */
let search = '';
export const keepList = (now: string): void => void (search = now);
export const listAddress = (): string => (search === '' ? '/history' : `/history?${search}`);
/** No character of an id needs encoding in a path. */
export const conversationAddress = (id: string): string => `/history/${id}`;
