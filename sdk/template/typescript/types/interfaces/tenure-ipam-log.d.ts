declare module 'tenure:ipam/log@0.1.0-rc.1' {
  export function write(level: Level, message: string): void;
  export type Level = LevelDebug | LevelInfo | LevelWarn | LevelError | LevelOther;
  export interface LevelDebug {
    tag: 'debug',
  }
  export interface LevelInfo {
    tag: 'info',
  }
  export interface LevelWarn {
    tag: 'warn',
  }
  export interface LevelError {
    tag: 'error',
  }
  /**
   * Reserved for later versions; a host that does not know it writes `info`.
   */
  export interface LevelOther {
    tag: 'other',
    val: string,
  }
}
