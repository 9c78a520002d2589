import type { ReactNode } from 'react';
import { Button, Group, Stack } from '@mantine/core';
import type { Once } from './once.ts';
import type { Labels } from './field-errors.ts';
import { Failure } from './states.tsx';
import { wordsOf } from './words.ts';

const t = wordsOf('app');

interface ChangeFormProps {
  readonly change: Pick<Once<unknown, undefined>, 'isPending' | 'isError' | 'error' | 'mutate'>;
  readonly submit: string;
  /** Labels of the inputs by the fields of the request, for `fieldsWith` of field-errors.ts and the error. */
  readonly labels: Labels;
  /** Only for a form in a dialog. */
  readonly onClose?: () => void;
  readonly maw?: number;
  readonly danger?: boolean;
  readonly children: ReactNode;
}
/** Fields that are sent together, with the error of a refusal. */
export const ChangeForm = ({
  change,
  submit,
  labels,
  onClose,
  maw,
  danger,
  children,
}: ChangeFormProps): ReactNode => (
  <form
    onSubmit={(event) => {
      event.preventDefault();
      change.mutate(undefined);
    }}
  >
    <Stack {...(maw === undefined ? {} : { maw })}>
      {children}
      {change.isError && <Failure error={change.error} labels={labels} />}
      <Group {...(onClose === undefined ? {} : { justify: 'flex-end' })}>
        {onClose !== undefined && (
          <Button variant="default" onClick={onClose}>
            {t('cancel')}
          </Button>
        )}
        <Button type="submit" loading={change.isPending} {...(danger === true ? { color: 'red' } : {})}>
          {submit}
        </Button>
      </Group>
    </Stack>
  </form>
);
