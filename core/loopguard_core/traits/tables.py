"""Built-in traits: the tools of Claude Code, Codex, Gemini CLI, Copilot, opencode, hermes and LangChain.

Names as the agents send them. A tool that runs whatever it is given (a shell, an interpreter, a
subagent) is in no set: nobody can say what it does. One name means the same with all of them; where
it does not, it stands in no set either.
"""

from __future__ import annotations

from loopguard_core.traits.rules import bare, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Claude Code | Codex | Gemini CLI | Copilot (CLI, then VS Code) | opencode | hermes | LangChain community
READONLY = frozenset(
    """
    Read Grep Glob LS NotebookRead WebFetch WebSearch ListMcpResourcesTool ReadMcpResourceTool ToolSearch LSP
    view_image list_mcp_resources list_mcp_resource_templates read_mcp_resource list_dir grep_files web_search
    read_file read_many_files list_directory glob search_file_content grep_search google_web_search web_fetch
    get_internal_docs list_mcp_resources
    view grep list_bash list_powershell fetch_copilot_cli_documentation
    semantic_search file_search get_errors test_search get_changed_files fetch_webpage list_code_usages
    get_search_view_results get_project_setup_info read_project_structure github_repo get_vscode_api
    read list webfetch websearch codesearch lsp_hover lsp_diagnostics lsp
    search_files web_extract session_search browser_snapshot browser_console browser_get_images browser_vision
    skill_view skills_list vision_analyze
    duckduckgo_search duckduckgo_results_json tavily_search tavily_search_results_json tavily_extract tavily_map
    wikipedia arxiv pub_med google_search google_search_results_json google_serper google_serper_results_json
    bing_search bing_search_results_json brave_search searx_search searx_search_results searchapi Search
    google_scholar google_trends_search google_finance google_jobs google_places yahoo_finance_news
    semanticscholar stack_exchange reddit_search youtube_search open_weather_map wolfram_alpha wikidata
    you_search exa_search jina_search mojeek_search metaphor_search_results_json ask_news_search merriam_webster
    requests_get sql_db_schema sql_db_list_tables sql_db_query_checker file_search extract_text
    extract_hyperlinks get_elements current_webpage json_spec_list_keys json_spec_get_value
    search_gmail get_gmail_message get_gmail_thread get_channelid_name_dict get_messages get_users_in_channel
    """.split()
)
MUTATING = frozenset(
    """
    Write Edit MultiEdit NotebookEdit KillShell KillBash TaskStop
    apply_patch close_agent
    write_file replace save_memory
    create edit str_replace_editor stop_bash stop_powershell store_memory
    insert_edit_into_file replace_string_in_file multi_replace_string_in_file create_file create_directory
    edit_notebook_file create_new_jupyter_notebook install_extension
    write patch multiedit
    memory skill_manage browser_click browser_type browser_press browser_scroll browser_navigate browser_back
    send_message cronjob cronjob_manage
    requests_post requests_put requests_patch requests_delete copy_file file_delete move_file
    navigate_browser previous_webpage click_element create_gmail_draft send_gmail_message send_sms_message
    schedule_message
    """.split()
)
BOOKKEEPING = frozenset(
    """
    TodoWrite TodoRead TaskCreate TaskUpdate TaskList TaskGet EnterPlanMode ExitPlanMode exit_plan_mode
    update_plan
    write_todos enter_plan_mode update_topic
    report_intent update_todo
    manage_todo_list think
    todowrite todoread plan_enter plan_exit
    todo todo_list
    """.split()
)
POLLERS = frozenset(
    """
    BashOutput TaskOutput AgentOutputTool Monitor
    write_stdin wait_agent wait
    read_bash read_powershell read_agent
    get_terminal_output await_terminal get_task_output get_terminal_last_command terminal_last_command
    process process_manage browser_wait
    sleep
    """.split()
)
#: Tools of hermes that filesystem servers bring, which it names ``mcp_<server>_<tool>``.
_FILESYSTEM = "mcp_filesystem_"
_FILESYSTEM_READERS = frozenset(
    """
    read_file read_text_file read_media_file read_multiple_files list_directory list_directory_with_sizes
    directory_tree get_file_info search_files list_allowed_directories
    """.split()
)
#: The host's own settings of a call, which do not change what is asked for.
IGNORED: dict[str, tuple[str, ...]] = {
    "Bash": ("description", "timeout", "run_in_background"),
    "bash": ("description", "timeout", "initial_wait", "mode"),
    "powershell": ("description", "timeout", "initial_wait", "mode"),
    "run_shell_command": ("description",),
    "exec_command": ("yield_time_ms", "max_output_tokens", "justification"),
    "shell": ("timeout_ms", "justification"),
    "shell_command": ("timeout_ms", "justification"),
    "local_shell": ("timeout_ms",),
    "write_stdin": ("yield_time_ms", "max_output_tokens"),
    "wait_agent": ("timeout_ms",),
    "run_in_terminal": ("explanation", "goal", "timeout"),
    "read_bash": ("delay",),
    "browser_click": ("element",),
    "browser_hover": ("element",),
    "browser_type": ("element",),
    "browser_select_option": ("element",),
    "terminal": ("timeout",),
}


def built_in(tool: str) -> dict[str, Any]:
    """What the tables say of *tool*, as ``Traits`` takes it; empty where they say nothing."""
    said = _flags(tool)
    if not said and tool.startswith(_FILESYSTEM):
        name = tool[len(_FILESYSTEM) :]
        said = {"readonly": True, "mutating": False} if name in _FILESYSTEM_READERS else {}
    elif not said and (name := bare(tool)) != tool:
        said = _flags(name)
    plain = "_".join(words(tool))  # browserClick, browser-click
    said = said or _flags(plain)
    ignored = IGNORED.get(tool) or IGNORED.get(bare(tool)) or IGNORED.get(plain)
    if ignored:
        said["ignored_fields"] = ignored
    return said


def _flags(name: str) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if name in BOOKKEEPING:
        return {"bookkeeping": True, "mutating": False}
    if name in POLLERS:
        said["poller"] = True
    if name in READONLY:
        said["readonly"], said["mutating"] = True, False
    elif name in MUTATING:
        said["readonly"], said["mutating"] = False, True
    return said
