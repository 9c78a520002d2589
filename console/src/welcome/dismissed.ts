/** People who dismissed the first steps as start page, stored in this browser. */
const key = (extension: string): string => `offhook.welcome.dismissed.${extension}`;
export const isDismissed = (extension: string): boolean => localStorage.getItem(key(extension)) !== null;
export function setDismissed(extension: string, dismissed: boolean): void {
  if (dismissed) localStorage.setItem(key(extension), '1');
  else localStorage.removeItem(key(extension));
}
