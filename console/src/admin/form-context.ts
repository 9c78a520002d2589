import { createContext, useContext } from 'react';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import type { Mistake } from './schema.ts';

/** State of a form, shared with its fields. */
export interface FormState {
  readonly kind: ConfigKind;
  readonly isNew: boolean;
  readonly mistakes: readonly Mistake[];
}
export const FormContext = createContext<FormState | null>(null);
export function useForm(): FormState {
  const form = useContext(FormContext);
  if (form === null) throw new Error('useForm needs a form around it');
  return form;
}
export const fieldId = (path: string): string => `field.${path}`;
/** Moves the focus to a field, or to its nearest focusable ancestor. */
export function focusField(path: string): void {
  const parts = path.split('.');
  for (let n = parts.length; n > 0; n -= 1) {
    const element = document.getElementById(fieldId(parts.slice(0, n).join('.')));
    if (element === null) continue;
    element.scrollIntoView({ block: 'center' });
    const inner = element.matches('input, select, textarea, button')
      ? element
      : element.querySelector<HTMLElement>('input, select, textarea, button');
    inner?.focus({ preventScroll: true });
    return;
  }
}
