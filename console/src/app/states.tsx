/** What every page shows while it waits, where there is nothing, and where something failed. */
import { Component } from 'react';
import type { ReactNode } from 'react';
import { Alert, Button, Center, Loader, Stack, Text, Title } from '@mantine/core';
import { CircleAlert } from 'lucide-react';
import { t } from './app-words.ts';
import { errorDetail, errorText } from './error-words.ts';

export const Loading = (): ReactNode => (
  <Center mih={200} role="status" aria-label={t('loading')}>
    <Loader />
  </Center>
);
interface FailureProps {
  readonly error: unknown;
  readonly onRetry?: (() => void) | undefined;
}
/** An error in the reader's language, with what the service said; a screen reader hears it. */
export function Failure({ error, onRetry }: FailureProps): ReactNode {
  const detail = errorDetail(error);
  return (
    <Alert
      role="alert"
      color="red"
      variant="light"
      icon={<CircleAlert size={18} aria-hidden />}
      title={errorText(error)}
    >
      {detail !== '' && (
        <Text size="sm" lang="en">
          {detail}
        </Text>
      )}
      {onRetry && (
        <Button mt="xs" size="xs" variant="default" onClick={onRetry}>
          {t('try_again')}
        </Button>
      )}
    </Alert>
  );
}
interface EmptyProps {
  readonly icon?: ReactNode;
  readonly title: string;
  readonly children?: ReactNode;
}
export const Empty = ({ icon, title, children }: EmptyProps): ReactNode => (
  <Center mih={220} p="lg">
    <Stack align="center" gap="xs" maw={420} ta="center">
      {icon}
      <Title order={2} size="h4">
        {title}
      </Title>
      {children}
    </Stack>
  </Center>
);

interface BoundaryState {
  readonly error: unknown;
}
/** A part that fails takes nothing else with it. */
export class Boundary extends Component<{ readonly children: ReactNode }, BoundaryState> {
  override state: BoundaryState = { error: null };
  static getDerivedStateFromError(error: unknown): BoundaryState {
    return { error };
  }
  override render(): ReactNode {
    if (this.state.error === null) return this.props.children;
    return (
      <Alert role="alert" color="red" variant="light" title={t('failed')} m="md">
        <Text size="sm">{t('failed_text')}</Text>
        <Button mt="xs" size="xs" variant="default" onClick={() => this.setState({ error: null })}>
          {t('try_again')}
        </Button>
      </Alert>
    );
  }
}
