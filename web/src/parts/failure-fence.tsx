// Keeps an error in one view from taking the others down: says what happened, and lets the user go on.
// The one class of the application, because React offers error boundaries only as classes.
import { Component, type ReactNode } from 'react';
import { ErrorNotice } from './notices';

export class FailureFence extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render(): ReactNode {
    return this.state.error ? <ErrorNotice error={this.state.error} /> : this.props.children;
  }
}
