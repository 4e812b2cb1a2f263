"""Version pages of modules and providers: the list of all versions, and the frame around the tabs of one."""
