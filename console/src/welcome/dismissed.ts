/** Who does not want the first steps as the start page any more, on this browser. */
const key = (extension: string): string => `offhook.welcome.dismissed.${extension}`;
export const isDismissed = (extension: string): boolean => localStorage.getItem(key(extension)) !== null;
export function setDismissed(extension: string, dismissed: boolean): void {
  if (dismissed) localStorage.setItem(key(extension), '1');
  else localStorage.removeItem(key(extension));
}
